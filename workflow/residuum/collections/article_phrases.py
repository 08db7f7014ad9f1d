"""The sentence patterns that the generated articles and their topics are made of.

Usage: article_writing fills the braces of a pattern and gives it a capital and a full stop. A
pattern never follows "a" or "an" with a brace whose words may start with a vowel.

It must not know the words that fill a pattern, nor how patterns are put together.
"""

from residuum.collections.wordlists import items

# A title; {count} is a number, {design} and {site} describe the setting
TITLES = items(
    """
    {population} with {condition}: {aspect} in a {design}
    {condition} and {aspect}: a {design} of {population} in {site}
    a {design} of {aspect} in {population} with {condition}
    {count} records from {site}: {aspect} in {condition}
    {aspect} of {condition}: findings in {population} from {site}
    """
)
TRIAL_TITLES = items(
    """
    {agent} for {condition} in {population}: {aspect} in a {design}
    {aspect} with {agent} in {population} with {condition}
    {agent} and {condition}: a {design} of {aspect} in {site}
    """
)

# Sentences of an abstract; {first}, {second}, {third} are collocates of the aspect of the study
BACKGROUNDS = items(
    """
    little is settled about the {aspect} of {condition}
    {condition} is a {course} illness that leaves questions about {aspect}
    clinics that see {condition} need to know more about {aspect}
    """
)
METHODS = items(
    """
    we followed {count} {population} in {site} for {span}
    during {span}, data on {count} {population} were gathered in {site}
    {count} {population} from {site} took part in this {design}
    """
)
TRIALS = items(
    """
    participants received {agent}, a {drug}, or usual care
    half of them were given {agent}, a {drug}
    the effect of {agent}, a {drug}, was compared with that of usual care
    """
)
DETAILS = items(
    """
    {first}, {second} and {third} were recorded
    data on {first} and {second} were set against {third}
    models took {first}, {second} and {third} into account
    we looked at {first}, {second} and {third}
    """
)
FINDINGS = items(
    """
    the findings on {aspect} were {result}; as to {aspect}, the picture was {result}
    estimates for {aspect} were {result}
    """
)
CONTROLS = items(
    """
    patients with {condition} served as controls; cases of {condition} were excluded
    {condition} was ruled out beforehand
    """
)
ASIDES = items(
    """
    we did not examine the {aspect}; questions of {aspect} are left to others
    no data on {aspect} were available
    """
)
CONCLUSIONS = items(
    """
    larger studies should confirm this; guidelines may have to be revised; this calls for some care
    the question deserves a longer follow-up; practice need not change for now
    """
)

# Sentences that only a body has
ALIASES = items(
    """
    in older papers the same illness appears as {alias}; {condition} is also known as {alias}
    some authors write {alias} instead of {condition}
    """
)
SIGNS = items(
    """
    most of the sick report {one} and {two}; typical complaints are {one} and {two}
    the first sign is often {one}, followed by {two}
    """
)
PROCEDURES = items(
    """
    two reviewers read each file independently, and a third settled their disagreements
    missing entries were imputed five times, and the estimates were pooled afterwards
    the protocol had been approved by the ethics board of {site} before enrolment began
    interviews took about forty minutes and were repeated after {span}
    all intervals are given at the level of ninety-five per cent and were bootstrapped
    the data were entered twice in {site}, and differences were resolved by hand
    """
)
OBSERVATIONS = items(
    """
    a closer look at {first} and {second} showed differences between the sites
    {first} explained part of the variation, whereas {second} did not
    tables on {first} and {second} are given in the supplement
    adding {first} to the model changed little, but {second} mattered more
    """
)
SIDE_FINDINGS = items(
    """
    the data also speak to the {aspect} of {condition}: given {first} and {second}, it was {result}
    a second outcome was {aspect} in {condition}, which, going by {first} and {second}, was {result}
    we also looked at {aspect}: in {condition}, the notes on {first} and {second} were {result}
    """
)
USES = items(
    """
    {count} of the patients with {condition} were on {agent}, and their outcomes were {result}
    in an exploratory step, {count} people with {condition} had {agent}, and effects were {result}
    """
)
MENTIONS = items(
    """
    whether the same holds for {condition} is unknown; a similar debate surrounds {condition}
    {condition} would be a natural next subject; lessons from {condition} may not apply here
    """
)
LIMITS = items(
    """
    this work has limits: the sample was small, follow-up was short and some answers rest on memory
    our sample came from one region, so that care is needed before the results are carried elsewhere
    as in all observational work, unmeasured differences between the groups may explain what we saw
    """
)
FUNDING = items(
    """
    the work was paid for by a public grant, and the authors declare no competing interests
    a foundation in {site} supported the study but had no part in its design or writing
    the authors thank the registry of {site} and everyone who gave their time
    """
)

REVIEW_TITLES = items(
    """
    {condition}: a review of {span} of work
    current knowledge of {condition}, with notes on {aspect}
    {condition} in practice: an overview over {span}
    """
)
REVIEWS = items(
    """
    this review gathers {count} papers on {condition}
    we summarise {count} reports on {condition}, most of them from {site}
    """
)
REVIEWED = items("it covers {listed}; sections deal with {listed}; the topics are {listed}")
SECTIONS = items(
    """
    on {aspect}, the literature names {first} and {second}, and most estimates are {result}
    papers about {aspect} mention {first} and {second}, with results that are {result}
    for {aspect}, authors rely on {first} and {second}, and their conclusions are {result}
    """
)

NOTICE_TITLES = items(
    """
    call for papers: {aspect} in {condition}; correction to a paper on {aspect} of {condition}
    meeting announcement: {condition} and {aspect}; letter to the editors about {condition}
    """
)
NOTICES = items(
    """
    the editors invite manuscripts on {aspect} in {condition}, in particular about {population}
    a session on {aspect} of {condition} will be held in {site}, with a panel on {population}
    an earlier paper on {aspect} in {condition} gave a wrong affiliation for one author
    readers asked for more about {aspect} in {condition} and about {agent} in {population}
    """
)
CLOSINGS = items(
    """
    the deadline is the last working day of the quarter; we thank those who wrote to us
    nothing else in the issue is affected
    """
)
CALENDAR = items(
    """
    abstracts of up to three hundred words can be sent until the end of the month
    a registration fee applies, and reductions are available on request
    no new data are presented here, and the conclusions of earlier papers stand
    contributions are read by two referees, who do not know the names of the authors
    further dates will be announced in the spring issue and by letter
    hotels near the station in {site} offer rooms at a reduced price
    """
)

# Topics; only `question` holds another question
ASKING = items(
    """
    what is known about {aspect} in {condition}; what do we understand of {aspect} in {condition}
    which studies describe {aspect} in patients with {condition}
    is there good evidence on {aspect} in {condition}
    """
)
ASKING_AGENT = items(
    """
    is {agent} a useful drug for {condition}; does {agent} help against {condition}
    how well does {agent} work in patients with {condition}
    what is known about {agent} and {condition}
    """
)
ASKING_GROUP = items("{question} among {population}; for {population}, {question}")
