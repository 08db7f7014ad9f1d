"""The words that the generated articles are made of: concepts, and parts of invented names.

Usage: article_world makes the concepts of a collection from these tables, article_writing takes
collocates, symptoms and settings from them; the sentences are in article_phrases. The forms of
one concept share no word, so that a changed form is a lexical mismatch.

It must not know the words of places, nor how the pieces are drawn and put together.
"""

from __future__ import annotations

from typing import NamedTuple

from residuum.collections.wordlists import Concept, concepts, families, items, words


class Aspect(NamedTuple):
    """What a study can be about: its surface forms, a plain question and the words around it."""

    family: str
    forms: Concept
    question: str
    collocates: tuple[str, ...]


def _aspects(text: str) -> list[Aspect]:
    return [
        Aspect(family, tuple(forms.split("|")), question, tuple(collocates.split()))
        for family, (forms, question, collocates) in families(text, 3)
    ]


THERAPY = "therapy"  # a study of this family tries an agent

ASPECTS: list[Aspect] = _aspects(
    """
    spread:
    airborne transmission|aerosol passage|droplet spread
    can {condition} reach people through the air in closed rooms
    ventilation coughing corridors humidity sneezing airflow plumes fans
    animal reservoir|zoonotic origin|wildlife source
    which creatures carry {condition} in nature
    bats rodents trapping burrows ticks carcasses poultry foxes
    incubation period|latent interval|time before symptoms
    how long after contact does {condition} show itself
    quarantine tracing itineraries calendars encounters diaries postmarks arrivals
    surface contamination|fomite persistence|survival on objects
    how long does {condition} stay alive outside the body
    swabs bedrails bleach cardboard steel cutlery keyboards curtains
    diagnosis:
    rapid testing|bedside assay|quick detection
    how fast and how surely can {condition} be found
    strips cartridges saliva reagents sensitivity pipettes batteries readers
    imaging signs|scan appearance|radiographic pattern
    what does {condition} look like on film
    opacities tomography shadows nodules radiologists contrast margins slices
    blood markers|serum indicators|plasma values
    which laboratory results change with {condition}
    platelets albumin clotting enzymes creatinine centrifuges thresholds iron
    misdiagnosis rate|mistaken identification|labelling error
    how often is {condition} taken for something else
    mimics referrals autopsies charts reclassification dictation checklists confusion
    course:
    death risk|case fatality|lethal outcome
    how many people die of {condition}
    survival certificates comorbidity hazards hospices ventilators burials curves
    lasting effects|long-term sequelae|chronic aftermath
    what remains months after {condition}
    fatigue rehabilitation breathlessness disability memory stairs pensions relapse
    reinfection frequency|second episode|repeat illness
    can a person catch {condition} more than once
    waning recurrence readmission titres anniversaries recontact serotypes lapses
    severity predictors|deterioration factors|warning features
    who becomes gravely ill with {condition}
    oxygen obesity scores triage delirium dehydration pulse frailty
    therapy:
    treatment response|therapeutic benefit|curative effect
    which remedies work against {condition}
    placebo discharge endpoints remission blinding allocation recovery crossover
    dose finding|optimal posology|amount to give
    how much medicine is right for {condition}
    milligrams infusion tablets titration clearance ceilings troughs syringes
    adverse reactions|drug harms|unwanted events
    what damage can medicines for {condition} do
    rash nausea dizziness itching arrhythmia vomiting bruising tremor
    preventive use|prophylactic value|protection beforehand
    which medicines keep {condition} away
    volunteers adherence capsules refills reminders seasons pillboxes bystanders
    measures:
    mask wearing|face covering|respirator use
    does covering the mouth help to stop {condition}
    cotton filters beards valves elastic fit-tests visors queues
    vaccine uptake|immunisation coverage|inoculation acceptance
    how many people let themselves be protected against {condition} with a needle
    appointments refusal boosters nurses leaflets freezers invitations trust
    school closure|classroom shutdown|teaching suspension
    does keeping pupils at home slow {condition}
    timetables parents lessons attendance buses playgrounds tutors meals
    travel restriction|border control|movement ban
    do closed frontiers keep {condition} out
    airports permits ferries checkpoints passports detours lorries stamps
    society:
    mental distress|psychological burden|emotional strain
    how does {condition} weigh on the mind
    insomnia loneliness anxiety counselling hotlines grief worry nightmares
    care cost|economic load|financial expense
    how much money does {condition} take from hospitals
    invoices tariffs insurers budgets wages subsidies reimbursement accounting
    staff shortage|workforce gap|lack of personnel
    are there enough hands to care for {condition}
    overtime rosters resignations vacancies recruitment absences agencies burnout
    public misinformation|false rumours|misleading claims
    what untrue stories are told about {condition}
    newspapers forums hoaxes broadcasts gossip headlines moderators slogans
    biology:
    immune response|antibody reaction|host defence
    how does the body fight {condition}
    lymphocytes cytokines inflammation macrophages interferon spleen mucosa complement
    cell entry|receptor binding|membrane penetration
    how does {condition} get into tissue
    spikes ligands cholesterol endosomes docking glycans fusion pores
    genetic susceptibility|inherited predisposition|heritable vulnerability
    does {condition} run in families
    alleles twins chromosomes pedigrees haplotypes genotyping cousins loci
    mutation rate|variant emergence|genome drift
    how quickly does {condition} become something new
    sequencing lineages clades substitutions phylogenies deletions recombination barcodes
    """
)

POPULATIONS: list[Concept] = concepts(
    """
    children|paediatric patients|boys and girls; older adults|geriatric cases|people past seventy
    pregnant women|expectant mothers|obstetric outpatients; prisoners|inmates|detained persons
    health workers|clinical staff|ward employees; smokers|tobacco users|cigarette consumers
    diabetics|people with high blood sugar|insulin recipients; newborns|neonates|tiny infants
    farm labourers|agricultural hands|field crews; athletes|competitive runners|sports club members
    transplant recipients|organ graft holders|immunosuppressed carriers
    refugees|displaced families|camp residents; students|undergraduates|young academics
    shift employees|nocturnal teams|rotating-roster workers
    """
)

# Conditions: {stem}{suffix}, {surname} {head}, {look} {part} {ailment}
STEMS = words(
    """
    brolv quendr palvem trizol ostrel vermand claspir dulmor fengal grisov hepvand joltar
    kervis lampod mundrag nolvit orbas pertul rindov solmag tarvel umbris welkar zandip
    """
)
SUFFIXES = words("osis itis emia algia opathy oma")
SURNAMES = words(
    """
    Brannick Ostwell Haldrup Merrivane Tolgate Quistrand Averlund Pemblow Skarrow Dunmarch
    Fellhorn Grautvik Ilderton Jassop Kolvane Lindemoor Nethersby Orrelhall Pruskett Rowandel
    Sturmgard Thackwood Uldridge Vosskamp
    """
)
HEADS = words("syndrome disease disorder")
LOOKS = words("grey cold pale trembling dry burning heavy yellow")
PARTS = words("joint lung kidney skin throat nerve liver marrow")
AILMENTS = words("fever sickness rot cough")

SYMPTOMS = items(
    """
    a metallic taste; swollen knuckles; cloudy vision; night sweats; a hoarse voice; brittle nails
    stiff shoulders; loss of appetite; ringing ears; cold fingertips; a slow gait; mottled cheeks
    shallow breathing; sore gums; frequent hiccups; muscle cramps; peeling palms; sudden chills
    """
)
COURSES = items("seasonal; progressive; common; rare; relapsing; poorly described; feared; mild")

# Agents: {onset}{end}, a trade name, a laboratory code
ONSETS = words(
    """
    tolva bexa curdi delpho erqui folmi gastro hylda invo kelpi lorda mivo norbe opti pravo
    quila rasto silve tembo urdo
    """
)
ENDS = words("rine mune zolan dipar vexil")
TRADE_NAMES = words(
    """
    Ambrusil Belquora Cortavane Dormilux Eskavel Fintoral Glavimed Hexolume Istralin Jovacal
    Kindravo Lumiqual Morvexin Nordafil Olvatrin Pelusane Quorvita Relvaxo Sontirel Tarquise
    """
)
LETTERS = words("KV TX RB QN LM ZD HG PW")
CLASSES = items(
    """
    membrane stabiliser; bark extract; synthetic peptide; protease blocker; mineral salt
    monoclonal product; fungal derivative; hormone analogue; kinase inhibitor; steroid ester
    """
)

SITES = items(
    """
    Vastergard; Port Ellamy; Corrindale; the Nuvelle basin; Hartmoor; Sint Aldo; Okkerby; Travessa
    the Lindrum valley; Pellworth; Kamadura; North Essing; Bradaloon; Marivento; Tollenau; Zirkhaven
    """
)
DESIGNS = items(
    """
    cohort study; registry analysis; cross-sectional survey; matched comparison; pilot study
    prospective series; modelling exercise; multi-centre audit; secondary analysis; record linkage
    """
)
SPANS = items("two winters; eighteen months; one season; nine weeks; four years; half a decade")
RESULTS = items(
    """
    stronger than earlier reports suggest; weaker than expected; in line with earlier work
    inconsistent across sites; clear after adjustment; modest but stable; limited to one subgroup
    difficult to separate from chance; more marked in the second half; lower than feared
    """
)
