/**
 * What people call the same by different words. Each line is one group, folded, with blanks between its
 * words.
 */

/**
 * Abbreviations in names of places and organizations: those of USPS Publication 28 (streets, directions,
 * units), those of map makers, and those usual in names of health organizations.
 */
export const abbreviations = `
st saint street
ste sainte suite
mt mtn mount mountain
ft fort
pt point port
n north
s south
e east
w west
ne northeast
nw northwest
se southeast
sw southwest
ave av avenue
blvd boulevard
rd road
dr drive
ln lane
ct court
cir circle
pl place
plz plaza
sq square
ter terrace
trl trail
hwy highway
pkwy parkway
expy expressway
fwy freeway
tpke turnpike
bldg building
fl floor
rm room
hts heights
spgs springs
bch beach
jct junction
vlg village
lk lake
isl island
aly alley
anx annex anex
cirs circles
cmns commons
drs drives
exts extensions
frds fords
frgs forges
frnt front
glns glens
grns greens
grvs groves
hbrs harbors
hngr hangar
jcts junctions
lbby lobby
lck lock
lcks locks
ldg lodge
lgt light
lgts lights
lowr lower
mnrs manors
mtwy motorway
nck neck
opas overpass
pln plain
prts ports
psge passage
pts points
radl radial
rds roads
rpd rapid
rst rest
shl shoal
shls shoals
spc space
sqs squares
sts streets
trak track
trfy trafficway
trlr trailer
trwy throughway
tunl tunnel
upas underpass
uppr upper
vlgs villages
xrd crossroad
xrds crossroads
bg burg
bgs burgs
blf bluff
blfs bluffs
bnd bend
br branch
brg bridge
brk brook
brks brooks
btm bottom
byp bypass
byu bayou
clb club
clf cliff
clfs cliffs
cmn common
cor corner
cors corners
cp camp
cpe cape
cres crescent
crk creek
crse course
crst crest
cswy causeway
cts courts
cv cove
cvs coves
cyn canyon
est estate
ests estates
ext extension
fld field
flds fields
fls falls
flt flat
flts flats
frd ford
frg forge
frk fork
frks forks
frst forest
fry ferry
gdn garden
gdns gardens
gln glen
grn green
grv grove
gtwy gateway
hbr harbor harbour
hl hill
hls hills
holw hollow
hvn haven
inlt inlet
knl knoll
knls knolls
lks lakes
lndg landing
mdw meadow
mdws meadows
mls mills
mnr manor
msn mission
mtns mountains
orch orchard
plns plains
pne pine
pnes pines
prt port
rdg ridge
rdgs ridges
riv river
rnch ranch
rpds rapids
rte rt sr route
1st first
2nd second
3rd third
4th fourth
5th fifth
6th sixth
7th seventh
8th eighth
9th ninth
10th tenth
11th eleventh
12th twelfth
mlk luther
jr junior
sr senior
fla florida
philly philadelphia
nyc newyork newyorkcity
indy indianapolis
shr shore
shrs shores
skwy skyway
smt summit
spg spring
sta station
strm stream
trce trace
vis vista
vl ville
vly valley
vlys valleys
vw view
vws views
wl well
wls wells
xing crossing
apt apartment
bsmt basement
ofc office
hosp hospital
univ university
ctr cntr cent center centre
ctrs centers centres
med medical medicine
clin clinic clinical
hlth health
hc healthcare
assoc assn assocs associates association
grp group
svc svcs service services
inst institute
dept department
phys physician physicians
fam family
comm community
reg regl regional
mem meml memorial
gen general
natl national
intl international
cty co county cr
surg surgery surgical
rehab rehabilitation
behav behavioral
wmn womens women
chldrns childrens children
peds ped pediatrics pediatric paediatrics
ortho orthopedic orthopedics orthopaedic orthopaedics
onc oncology
neuro neurology
derm dermatology
psych psychiatry psychology psychiatric
pharm pharmacy
dent dental dentistry
diag diagnostic diagnostics
lab laboratory
emer emergency
amb ambulatory
prof professional
sys system systems
va veterans
and &
`;

/** Given names and their short forms, as usual in the United States; the first one is the formal name. */
export const nicknames = `
abigail abby gail
abraham abe
albert al bert
alexander alex al sandy xander
alexandra alex sandra sandy lexi
alfred al fred
alice ali
allison ali ally
amanda mandy
andrea andy
andrew andy drew
angela angie
ann anne annie nancy
anthony tony
antonio tony
arthur art
barbara barb babs
benjamin ben benny
bernard bernie
beverly bev
bradley brad
calvin cal
carolyn carol carrie
caroline carrie
catherine cathy cate kate katie kathy
charles charlie chuck chas
christina chris tina christy
christine chris tina christy
christopher chris topher
clifford cliff
cynthia cindy
daniel dan danny
david dave davey
deborah deb debbie
dennis denny
donald don donny
dorothy dot dottie
douglas doug
edward ed eddie ted ned
eleanor ellie nora
elizabeth liz beth betty betsy eliza lisa libby
emily em
ernest ernie
eugene gene
florence flo
frances fran
francis frank
francisco paco pancho
franklin frank
frederick fred freddy
gabriel gabe
gerald gerry jerry
gregory greg
guadalupe lupe
harold hal harry
heather heath
helen nell
henry hank harry
howard howie
ignacio nacho
jacob jake
jacqueline jackie
james jim jimmy jamie
janet jan
jason jay
jeffrey jeff
jennifer jen jenny
jeremy jerry
jessica jess jessie
joan joanie
jonathan jon
john jack johnny
joseph joe joey
jose pepe
joshua josh
judith judy
julia julie
katherine kathy kate katie kat kitty
kathleen kathy kate katie
kenneth ken kenny
kimberly kim
lawrence larry
leonard leo len lenny
lillian lily
louis lou louie
margaret maggie meg peggy marge
maria mary
martin marty
matthew matt
melissa missy
michael mike mickey mick
michelle shelly
mitchell mitch
nancy nan
natalie nat
nathan nate
nathaniel nate nat
nicholas nick
nicole nikki
pamela pam
patricia pat patty tricia trish
patrick pat paddy
peter pete
philip phil
phillip phil
rachel rae
randall randy
raymond ray
rebecca becky becca
richard rick dick rich ricky
robert bob bobby rob robbie bert
roberto beto
rodney rod
ronald ron ronnie
rosemary rose
russell russ
samantha sam
samuel sam sammy
sandra sandy
scott scotty
sharon shari
stanley stan
stephanie steph
stephen steve
steven steve
susan sue susie
teresa terry tess
terrence terry
theodore ted theo teddy
theresa terry tess
thomas tom tommy
timothy tim
valerie val
veronica ronnie
victor vic
victoria vicky tori
vincent vince vinny
virginia ginny
walter walt
wendy wen
william bill billy will willie liam
zachary zach
`;

/**
 * What specialties are called, and words by which the classifications of the NUCC taxonomy name them; a code
 * stands for all codes that begin with it. Ours, made from the names of the taxonomy and from the words for
 * patients of the specialty boards' pages.
 */
export const specialtyNames = `
acupuncturist > acupuncture 1711
addiction > addiction substance
allergist > allergy 207k
allergy > 207k
anesthesia > anesthesiology 207l
anesthesiologist > anesthesiology anesthesia 207l
anesthetist > anesthesia 3675
arthritis > rheumatology 207rr0500x
audiologist > audiology audiologist 231h
back > spine chiropractic chiropractor 111n
bone > orthopaedic orthopedic 207x
bones > orthopaedic orthopedic 207x
brain > neurology neurosurgery neurological 2084n0400x 207t
breathing > pulmonary pulmonology 207rp1001x
cancer > oncology 207rx0202x 207rh0003x
cardiac > cardiology cardiovascular 207rc0000x
cardiologist > cardiology cardiovascular 207rc0000x 207ri0011x
cardiology > cardiovascular 207rc0000x 207ri0011x
child > pediatrics pediatric 2080
children > pediatrics pediatric 2080
chiropractic > chiropractor 111n
chiropractor > chiropractic chiropractor 111n
counselor > counseling counselor 101y
critical > 207rc0200x
crna > anesthetist 3675
dentist > dentistry dental dentist 1223
dermatologist > dermatology 207n
diabetes > endocrinology 207re0101x
dialysis > nephrology 207rn0300x
dietitian > nutrition dietitian 133v
digestive > gastroenterology 207rg0100x
ear > otolaryngology 207y
eeg > neurology
elderly > geriatrics geriatric 207rg0300x
electrophysiologist > electrophysiology 207rc0001x
endocrinologist > endocrinology 207re0101x
endodontist > endodontics 1223e0200x
ent > otolaryngology 207y
er > emergency 207p
eye > ophthalmology optometry optometrist 207w 152w
eyes > ophthalmology optometry optometrist 207w 152w
family > 207q
feet > podiatry podiatrist 213e
fertility > reproductive 207ve0102x
foot > podiatry podiatrist 213e
gastroenterologist > gastroenterology 207rg0100x
geneticist > genetics 207s
geriatrician > geriatrics geriatric 207rg0300x
gi > gastroenterology 207rg0100x
gp > family general 207q
gyn > gynecology 207v
gynecologist > gynecology 207v
headache > neurology
heart > cardiology cardiovascular cardiac 207rc0000x
hematologist > hematology 207rh0000x 207rh0003x
hepatologist > hepatology 207ri0008x
hospice > palliative 207qh0002x 207rh0002x
hospitalist > hospitalist 208m
hygienist > hygiene 124q
immunologist > immunology 207ki0005x
infection > infectious 207ri0200x
intensivist > critical 207rc0200x
internist > internal 207r
joint > rheumatology orthopaedic
kidney > nephrology 207rn0300x
kids > pediatrics pediatric 2080
lcsw > social 1041
liver > hepatology gastroenterology 207ri0008x
lung > pulmonary pulmonology 207rp1001x
lungs > pulmonary pulmonology 207rp1001x
mental > psychiatry psychology 2084p0800x 103t
midwife > midwife 367a
neonatologist > neonatal 2080n0001x
nephrologist > nephrology 207rn0300x
neurologist > neurology 2084n0400x
neurosurgeon > neurosurgery neurological 207t
np > nurse 363l
nurse > nursing 163w
nutritionist > nutrition dietitian 133v
ob > obstetrics 207v
obgyn > obstetrics gynecology 207v
obstetrician > obstetrics 207v
oncologist > oncology 207rx0202x 207rh0003x
ophthalmologist > ophthalmology 207w
optometrist > optometry 152w
orthodontist > orthodontics 1223x0400x
orthopedist > orthopaedic orthopedic 207x
orthopod > orthopaedic orthopedic 207x
ot > occupational 225x
otolaryngologist > otolaryngology 207y
pain > 208v
palliative > hospice 207qh0002x 207rh0002x
pathologist > pathology 207z
pcp > family internal 207q 207r
pediatrician > pediatrics 2080
perinatologist > maternal 207vm0101x
periodontist > periodontics 1223p0300x
pharmacist > pharmacy 1835
physiatrist > rehabilitation 2081
physiotherapist > physical 2251
plastic > 2082
plastics > plastic 2082
pmr > rehabilitation 2081
podiatrist > podiatry 213e
pregnancy > obstetrics 207v
proctologist > colon rectal 208c
prosthodontist > prosthodontics 1223p0700x
psychiatrist > psychiatry 2084p0800x
psychologist > psychology 103t
psychotherapist > psychotherapy counseling
pt > physical 2251
pulmonologist > pulmonary pulmonology 207rp1001x
radiologist > radiology 2085
rheumatologist > rheumatology 207rr0500x
sinus > otolaryngology 207y
skin > dermatology 207n
sleep > sleep 207rs0012x
slp > speech 235z
speech > speech 235z
spine > orthopaedic neurosurgery
stomach > gastroenterology 207rg0100x
stroke > neurology
surgeon > surgery surgical 2086
teeth > dentistry dental 1223
therapist > therapy therapist language 235z
thoracic > 208g
throat > otolaryngology 207y
trauma > 2086s0127x
urologist > urology 2088
vascular > 2086s0129x
worker > work
xray > radiology 2085
`;

/** Titles and degrees: they need not be in a record, wherever they stand. */
export const titles: ReadonlySet<string> = new Set('dr doctor md rn mr mrs prof phd'.split(' '));
/** Words that tell nothing, unless they are the beginning of the last word; the last ones are mere labels. */
export const fillers: ReadonlySet<string> = new Set(
  'and the of at in near for ms miss npi taxonomy zip tel phone fax email mailto'.split(' '),
);
/**
 * What is written with dots, and means one word: degrees, states of two words, and what is called by its
 * initials.
 */
export const initialisms: ReadonlySet<string> = new Set(
  'md do dds dmd dpm dc od rn np pa phd ent obgyn nh nj nm ny nc nd sc sd ri nyc us usa'.split(' '),
);
/** Words that together are also called by one word. */
export const phrases: readonly (readonly [typed: readonly string[], meant: string])[] = [
  [['x', 'ray'], 'xray'],
  [['new', 'york', 'city'], 'nyc'],
  [['york', 'city'], 'york'],
];
