"""The words and sentence patterns that the generated collection is made of.

Usage: world draws names and concepts from these tables, writing takes surface forms, collocates
and sentence templates from them, judging the families of attributes. The forms of one concept
share no word, so that a changed form is a lexical mismatch.

It must not know torch, a JVM or a network, nor how the pieces are drawn and put together.
"""

from __future__ import annotations

from typing import NamedTuple

from residuum.collections.wordlists import Concept, concepts, families, items


class Attribute(NamedTuple):
    """What a passage can state: its family, four surface forms and the words that go with it."""

    family: str
    forms: Concept
    collocates: tuple[str, ...]


def _attributes(text: str) -> list[Attribute]:
    return [
        Attribute(family, tuple(forms.split("|")), tuple(collocates.split()))
        for family, (forms, collocates) in families(text, 2)
    ]


ATTRIBUTES: list[Attribute] = _attributes(
    """
    weather:
    yearly rainfall|annual precipitation|seasonal downpour|average drizzle
    clouds gutters puddles umbrellas gauges thunder drains cisterns
    winter cold|frost severity|icy weather|january chill
    snow sledges mittens icicles stoves blizzards skates furs
    summer heat|hot spell|july warmth|peak temperature
    droughts parasols sunburn shutters lemonade thermometers siestas straw-hats
    prevailing wind|usual breeze|gale vigour|airflow direction
    kites windmills vanes gusts sails chimneys squalls pennants
    morning fog|dawn mist|low visibility|haze cover
    lanterns foghorns dew lighthouses vapour dampness murk bells
    water:
    drinking water|potable supply|well quality|tap purity
    springs aqueducts buckets filters pipes pumps reservoirs jugs
    flood danger|inundation risk|high-tide threat|overflow hazard
    levees sandbags dikes embankments sluices rafts silt torrents
    fish catch|angling success|trawler haul|netted stock
    trout salmon eels bait rods smokehouses herring scales
    field irrigation|canal watering|ditch network|plot sprinkling
    furrows weirs paddies waterwheels channels hoses orchards allotments
    bathing culture|spa tradition|sauna habit|soaking ritual
    towels steam soap basins masseurs tubs minerals loofahs
    land:
    soil fertility|ground richness|earth productivity|loam grade
    compost ploughs manure worms clay humus seedlings spades
    forest extent|woodland area|tree density|timber acreage
    oaks loggers pines sawmills acorns squirrels beeches bark
    grain harvest|cereal output|wheat yield|threshing result
    barns sickles sheaves flour granaries scythes barley ovens
    livestock count|cattle number|herd size|grazing tally
    sheep shepherds pastures goats milk wool fences hay
    bird life|avian variety|nesting fauna|feathered wealth
    herons storks owls swallows eggs binoculars wetlands migrations
    trade:
    chief export|outbound product|shipped merchandise|overseas sale
    crates merchants warehouses invoices barrels pepper brokers parcels
    weekly market|bazaar day|stall trading|open-air fair
    hawkers awnings haggling baskets vegetables pedlars cheeses crowds
    tax burden|levy rate|fiscal duty|tribute payment
    collectors ledgers receipts exemptions audits tithes coins arrears
    typical wage|ordinary pay|worker income|customary salary
    payslips unions bonuses clerks apprentices overtime strikes foremen
    house price|rent expense|lodging cost|dwelling value
    landlords tenants mortgages leases flats deposits surveyors attics
    transport:
    road condition|highway state|paving standard|street upkeep
    potholes carts gravel cobbles wagons milestones asphalt ruts
    train service|railway timetable|locomotive link|track connection
    platforms tickets conductors carriages stations signals whistles sleepers
    harbour depth|port draught|anchorage room|mooring capacity
    ships cranes buoys dredgers quays hulls tugboats breakwaters
    ferry crossing|punt passage|boat shuttle|barge transfer
    oars jetties deckhands tides ropes gangways fares rudders
    airport access|flight availability|runway reach|aviation tie
    luggage hangars jets passports turbulence terminals airlines stewards
    government:
    mayor election|council vote|leadership ballot|magistrate choice
    candidates speeches posters polling rallies campaigns manifestos majorities
    court procedure|legal process|tribunal practice|judicial method
    judges lawyers verdicts juries appeals witnesses bail lawsuits
    crime level|theft frequency|lawbreaking incidence|burglary record
    constables handcuffs locks alibis patrols fingerprints gangs prisons
    militia strength|garrison force|armed guard|soldier muster
    barracks muskets drills uniforms sentries cannons sergeants bugles
    fire protection|blaze prevention|arson watch|burning safeguard
    hydrants ladders helmets alarms smoke sprinklers embers hatchets
    people:
    resident population|inhabitant total|census figure|headcount estimate
    births households suburbs newcomers registers families settlers funerals
    spoken language|local dialect|native tongue|everyday speech
    accents grammar vowels dictionaries proverbs translators idioms verbs
    school system|education provision|classroom teaching|pupil instruction
    chalk textbooks exams homework blackboards diplomas tutors satchels
    hospital care|medical treatment|clinic help|nursing attention
    doctors vaccines bandages surgeons wards fevers pharmacies stethoscopes
    main religion|dominant faith|majority worship|devotional belief
    shrines hymns priests candles pilgrims altars incense sermons
    culture:
    great festival|popular carnival|holiday celebration|civic pageant
    fireworks masks parades dancers costumes bonfires garlands drummers
    signature dish|regional cuisine|favourite meal|culinary speciality
    recipes stews spices dumplings cooks onions broth pastries
    folk music|song repertoire|traditional melody|tune heritage
    fiddles choirs flutes rhythms harps accordions lyrics trumpets
    handicraft skill|artisan work|workshop talent|manual making
    looms pottery weavers chisels lacquer kilns beads embroidery
    team sport|athletic contest|ball game|competitive pastime
    referees goals stadiums trophies medals leagues coaches jerseys
    """
)

TYPES: list[Concept] = concepts(
    """
    factory suburb|industrial periphery|manufacturing fringe; delta landing|estuary wharf|marsh pier
    border fortress|frontier stronghold|boundary citadel; desert oasis|sand outpost|arid waystation
    monastery district|abbey quarter|cloister precinct; island city|offshore metropolis|isle capital
    hill village|upland hamlet|mountainside community; coastal resort|seaside retreat|beach getaway
    river town|waterside borough|fluvial settlement; university seat|college campus|scholarly centre
    prairie ranch|steppe homestead|grassland estate; cavern enclave|grotto lodge|underground warren
    mining camp|quarry colony|pit encampment; valley parish|glen township|dale commune
    volcanic terrace|lava shelf|crater bench; lake haven|lagoon shelter|mere refuge
    """
)

MODIFIERS: list[Concept] = concepts(
    """
    independent|self-governing|autonomous; crumbling|half-ruined|dilapidated; narrow|cramped|slender
    whitewashed|pale-fronted|chalky; forgotten|overlooked|neglected; sprawling|scattered|straggling
    hospitable|welcoming|friendly; prosperous|wealthy|affluent; walled|fortified|ramparted
    famous|renowned|celebrated; granite|masonry|stone-clad; ancient|age-old|venerable
    rebellious|unruly|defiant; crowded|bustling|teeming; remote|isolated|secluded; smoky|sooty|grimy
    stern|austere|forbidding; wooden|planked|log-built; terraced|stepped|tiered; green|leafy|verdant
    poor|needy|impoverished; colourful|painted|gaudy; young|new-found|recent; quiet|sleepy|tranquil
    cheerful|merry|jolly; royal|regal|princely; sunny|bright|radiant; pious|devout|godly
    gloomy|dark|sombre; tidy|orderly|neat
    """
)

FEATURES: list[Concept] = concepts(
    """
    butterfly hothouse|moth pavilion|insect conservatory; bronze statue|metal effigy|copper monument
    star observatory|celestial lookout|astronomical dome; crooked tower|leaning spire|tilted steeple
    singing fountain|musical cascade|chiming waterspout; blue cathedral|azure basilica|cobalt temple
    marble staircase|alabaster stairway|polished ascent; hedge maze|topiary labyrinth|clipped puzzle
    sunken arena|lowered amphitheatre|recessed coliseum; serpent relief|snake frieze|viper engraving
    puppet museum|marionette exhibition|doll collection; red obelisk|crimson pillar|scarlet column
    floating theatre|drifting playhouse|buoyant stage; glass bridge|crystal viaduct|transparent span
    echoing cellar|resounding vault|reverberant crypt; giant sundial|enormous gnomon|huge timepiece
    whale skeleton|leviathan ribcage|cetacean carcass; salt tunnel|briny passageway|saline corridor
    hanging garden|suspended park|elevated arboretum; stilted granary|raised storehouse|propped silo
    silver library|argent archive|gleaming bookhouse; twin belfry|double campanile|paired carillon
    mirror hall|reflecting gallery|burnished chamber; bamboo flume|cane conduit|reed waterway
    petrified copse|fossil grove|mineralised thicket; cable lift|cord funicular|pulley tram
    clockwork gate|mechanical portal|geared doorway; rainbow mural|multihued fresco|prismatic mosaic
    tea kiosk|infusion booth|brewing hut; ivory throne|tusk chair|carved dais
    """
)

VALUES = items(
    """
    steady from one decade to the next; higher than a generation ago; below what visitors expect
    among the best for miles; worse than rumour has it; better than expected; a matter of pride
    lower than it was; surprisingly good; a cause for worry; slowly improving; hard to measure
    quite ordinary; much debated; modest; uneven
    """
)

# {attribute}, {name}, {description} ("a walled, pious river town with a glass bridge"), {value}
STATEMENTS = items(
    """
    {name}, {description}, is known for its {attribute}, which is {value}.
    For {name}, {description}, accounts call the {attribute} {value}.
    Visitors to {name}, {description}, find the {attribute} {value}.
    {name} is {description}, and its {attribute} is {value}.
    The {attribute} of {name}, {description}, is {value}.
    In {name}, {description}, the {attribute} is {value}.
    """
)

# {first}, {second}, {third}: collocates of the stated attribute; {part}: one word of the name
DETAILS = items(
    """
    Notes on {first} and {second} fill the files, with a page on {third}.
    Most talk in {part} is of {first}, {second} and, lately, {third}.
    Guests of {part} write home about {first}, {second} and {third}.
    The people of {part} joke about {first}, {second} and {third}.
    A survey of {first}, {second} and {third} bears this out.
    In {part} one hears about {first}, {second} and {third}.
    Old letters describe {first}, {second} and {third}.
    Reports mention {first}, {second} and {third}.; People speak of {first}, {second} and {third}.
    """
)

ASIDES = items(
    """
    This has little to do with the {attribute}.; The {attribute} is described elsewhere.
    Guides say more about the {attribute}.; Less is known about the {attribute}.
    The {attribute} is another matter.
    """
)

MENTIONS = items(
    """
    Much the same was once written of {name}.; Travellers from {name} say the same.
    Some confuse the place with {name}.; The contrast with {name} is plain.
    It is often compared with {name}.
    """
)

FILLERS = items(
    """
    Later editions repeat this without comment.; No other record has come to light.
    Nothing suggests a change soon.; A second opinion would help.; So it stood last autumn.
    This was checked twice.; The older maps agree.; The sources are few.
    """
)

# {type}, {modifier}, {feature} describe one kind of entity; {names} and {attributes} are lists
LISTINGS = items(
    """
    Gazetteer of every {modifier} {type}: {names}. Subjects covered: {attributes}. Sorted by hand.
    Index page. Entries under {type} with {feature}: {names}. See also {attributes}.
    Directory, {modifier} {type} section. Places: {names}. Each entry has notes on {attributes}.
    Contents of the volume on the {type}: {names}. Chapters deal with {attributes}.
    """
)

# {query} is a question in the words of the queries; nothing in a stub answers it
STUBS = items(
    """
    Question: {query}? Asked by a reader from {name}, who also wanted the {attribute}. No reply yet.
    Unanswered: {query}? Similar questions concern the {attribute} and {name}. Please log in.
    A visitor from {name} wrote: {query}? The thread then drifted to the {attribute} and was closed.
    {query}? Nobody has answered this so far. Related threads: the {attribute}, news from {name}.
    """
)

QUERIES = items(
    """
    what do people say about the {attribute} in {entity}; describe the {attribute} of {entity}
    what is known about the {attribute} of {entity}; how would you rate the {attribute} in {entity}
    what is the {attribute} of {entity}; what is the {attribute} in {entity}; {attribute} {entity}
    how is the {attribute} in {entity}; {attribute} of {entity}; {attribute} in {entity}
    """
)

# How a query points at its entity without the full name
DESCRIPTIONS = items(
    """
    the {type} with the {feature}, {modifiers} as it is; the {modifiers} {type} with the {feature}
    the {modifiers} {type} that has the {feature}
    """
)

PARTS = items("the {type} called {part}; {part} the {type}; {part} {type}")

_FIRST_STARTS = (
    "Bel Cor Drav Esk Fal Gor Hul Iv Jor Kel Lom Mar Nev Ost Pel Quen Ras Sel Tor Ul "
    "Vam Wes Yar Zan Brund Clav Dev Fen Gald Tam"
)
_FIRST_ENDS = "avik ambre eddin ergate ilow imsk onda othery ushal yndle"
_SECOND_STARTS = (
    "Ab Brin Cal Dun Ev Frel Gar Hob Ist Kar Lin Mol Nor Orm Pren Ruk Sten Tal "
    "Ved Wyn Ang Chid Hask Jund Lusk Merr"
)
_SECOND_ENDS = "acre avost emmer enzo idge istow ombe orren undy yste"


def names() -> list[str]:
    """Every two-word name that can be made, each once."""
    firsts = [start + end for start in _FIRST_STARTS.split() for end in _FIRST_ENDS.split()]
    seconds = [start + end for start in _SECOND_STARTS.split() for end in _SECOND_ENDS.split()]
    return [f"{first} {second}" for first in firsts for second in seconds]
