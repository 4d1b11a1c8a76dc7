"""The gate of automatic recall: which messages bring memories up, whatever the memory holds."""

import pytest

from bench.household_month import MONTH
from gateway.agent.recall_gate import calls_for_memories

SMALL_TALK = """
hiya!
Good evening :)
morning ☀️
yo yo
hey, you around?
What's new with you?
how have you been lately?
How's life treating you?
you good?
Did you have a nice weekend?
are you busy right now?
Any plans for tonight?
what's on your mind?
do you get bored sometimes?
can you hear me?
Are you happy?
Do you dream?
what's your name again?
How old are you?
Where are you from?
do you have feelings?
Are you smarter than a human?
What makes you laugh?
what kind of music are you into?
you're funny
ur hilarious 😂
hahahaha
lol that made my day
omg yes!!
no way, seriously?
That's wild.
wow, impressive!
Good for you!
sounds like a plan
perfect, thx
Thanks, I really appreciate it.
cheers mate
you're a lifesaver
my pleasure
never mind
don't worry about it
it's all good
my bad, sorry!
oops wrong chat
ok cool
yup, got it
fair enough
I agree
hmm, let me think
maybe later
not now please
I don't feel like it today
I'm exhausted
So sleepy...
I'm starving
need more coffee
ugh, mondays
it's been a long day
can't sleep
just chilling
watching tv on the couch
it's raining again
What a beautiful morning!
so hot today
I'm feeling a bit down
I had such a great time
best day ever!
I'm so proud of you
Have a safe trip!
Enjoy your meal
happy new year!
Happy Easter, everyone
good luck tomorrow!
Get well soon
sweet dreams 😴
nighty night
see ya
later!
gotta go, bye
brb
afk for a while
back again!
Guess what?
you there?
test
testing, testing
hello? anyone?
👍
❤️❤️
...
????
Guten Abend!
Na, alles gut bei dir?
Danke dir, schönen Tag noch!
Mir ist langweilig
Bonne journée !
Merci beaucoup, à bientôt
tu vas bien ?
Buenas noches, que descanses
¿Cómo va todo?
Ciao, tutto bene?
Tudo bem com você?
Hoe gaat het?
Доброй ночи
Как настроение?
晚安
谢谢你
おやすみなさい
everything is fine
everything went wrong today lol
everyone is asleep already
all good here
all the best to you
all i want is sleep
all we need is coffee
everybody hates mondays
everything hurts
sometimes i think too much
guess i should go
thanks i needed that
yes i have
nights i can't sleep, ugh
what a day, what a week
so tired, what now
ugh, where do i even start
hmm, how much longer
i don't know, who cares
je suis fatigué
je t'aime bien
j'ai faim
j'arrive
je vais dormir
je ne sais pas
when you wish upon a star
how are you feeling today my friend
where do you live
when do you sleep
how old are you really
what do you think of pizza toppings
who made you
count me in
rank insult lol
compare that to yesterday haha
rate my joke
...and that was that
what a lovely evening we had..
hmm… ok
well..
ok so…
kids i swear
cats i love them
days i have nothing to say
everywhere i go it rains
everything i touch breaks lol
all we do is wait
haha, what
oh no, how come
nice, when
""".strip().splitlines()
"""Written by hand, and not looked at when the gate was made."""

ABOUT_SOMETHING = """
where did I leave the passport?
serial number of the boiler
bedtime of our daughter
from when is the rent higher
to whom do we owe money
what is the tortoise doing
what happened on 29 May?
when is the recital?
where's the ladder
Paula's IBAN
pancake recipe
plumber's phone number
Nummer vom Klempner
Which port does the staging database use?
what's the code of the garage door
Who is Anthony?
When is my flight?
What did Ann say about the boat?
remind me of the wifi password
tell me about the trip to Porto
Do you know where the ladder is?
what did you recommend for my knee
Thanks! And when does the shop close on Sundays?
I ran into Mirela at the harbour today
ERR-4417
BX-77120 came back again
how much did the plumber charge us
Which restaurant did we like in Lisbon?
Wann ist der Zahnarzttermin?
Wo liegt der Ersatzschlüssel?
où est la clé de la cave ?
¿Cuándo es la cita con el médico?
dove ho messo le chiavi di casa?
когда приём у врача?
póliza del coche
contrato del ascensor
drag coefficient of disc 5
what does nan like
the vet is leaving, who comes next
our dentist has a new place, where
when can you go to the recycling centre
qu'est-ce que je dois acheter pour la tarte ?
rate all the bakeries we tried
what did the fig cost.. no the quince
books ive read this year
books i got through in may
places we ate at
everything that broke in the move
im at the barn already, how do i get in
ref that the bank gave us for the loan
phone for the father of the boy with the broken arm
the gym people want a membership no
why didnt anna get the job
staff no at the clinic
confirmation i got from the bank for the loan
combo of the small locker
wie schalt ich den ofen aus
everything I spent on the flat
when am i getting my crown done
como se chama a professora
¿quién es el veterinario?
备用钥匙在哪里？
スペアキーはどこにありますか
""".strip().splitlines()


CHATS_ASK = """
ou est le double des cles
c quoi le code du garage
quand est le rdv du dentiste
combien on a paye la voiture
qui garde le chat en aout
a quelle heure part le train de maman
quel jour sont les poubelles jaunes
comment s'appelle la voisine du 3e
pk on a change de banque
quelle taille fait leo en chaussures
depuis quand j'ai ce traitement
quels livres j'ai lus cette annee
c'est quoi le wifi chez papa
dis moi le numero du plombier
j'ai besoin du numero de serie de la chaudiere
dov'e il libretto della macchina
quando scade l'assicurazione
chi tiene le chiavi di casa dei nonni
quanto ho pagato il gommista
a che ora e la visita di mamma
come si chiama il pediatra nuovo
che giorno passa il tecnico
qual e il codice del cancello
in che classe e la figlia di anna
perche abbiamo cambiato medico
cosa ho prestato a giulio
quali ristoranti abbiamo provato
onde deixei a chave do carro
quando é a consulta da mae
quem ficou com a furadeira
quanto custou o conserto
qual a senha do wifi da praia
q dia o encanador vem
em q escola o pedro estuda
pq mudamos de medico
quais livros eu li esse ano
waar ligt de reservesleutel
wanneer komt de loodgieter
wie past er op de kat in mei
hoe heet de nieuwe juf van sam
wat kostte de reparatie van de auto
welke boeken heb ik dit jaar gelezen
op welke dag is zwemles
gdzie jest zapasowy klucz
kiedy mam wizyte u dentysty
kto pozyczyl moja wiertarke
ile zaplacilem za opony
jaki jest kod do bramy
o ktorej zaczyna sie proba
dlaczego zmienilismy lekarza
jakie ksiazki przeczytalam
где запасной ключ от гаража
когда у мамы приём у врача
кому я отдал дрель
сколько мы заплатили за ремонт
wem hab ich die leiter geliehen
wie heisst nochmal die neue von tom
bis wann muss das paket zurück
welche größe hat mia bei schuhen
was hat der klempner gekostet
wo haben wir das ersatzrad hin
warum sind wir nicht mehr bei der alten kasse
um wieviel uhr fängt die probe an
wer giesst die blumen im august
alles was ich verliehen hab
la reunion des parents c quel jour
on a paye le garagiste combien
les cles de la cave elles sont ou
il s'appelle comment le nouveau prof
on part a la mer quand
elle est dans quelle classe la petite
je dois ramener quoi samedi
les films qu'on a vus cet ete
la ref du four
tout ce que j'ai prete a paul
la revisione della panda quando scade
il tecnico a che ora viene
che scarpe ho preso a leo
in che scuola va nina
tutto quello che ho speso per la cucina
el fontanero cuando viene
a consulta da mae é que dia
o encanador mora onde
der zahnarzt von mia wann nochmal
mias dentist is when again
ou paul fait son stage
les plages ou jai nagé cet ete
le prix quon a paye pour le four
ke taglia porta leo di scarpe
xke abbiamo cambiato medico
la revisione qnd era poi
tutti i posti dove ho dormito
kel jour est la reunion
"""
CHATS_STATE = """
que buena noticia
q bien me lo he pasado
que va jaja
q no llego a cenar
q me ha dicho marta q no viene
cuando llegue a casa te lo cuento
cuando era pequeño comia tierra
cuanto antes mejor
quien sabe
como siempre llego tarde
como no venga me enfado
xq no me da la gana
a ver q tal hoy
en fin q me voy a dormir
por cierto q frio hace
de q vas jaja
quand je rentre je fais la sieste
qui sait
que de souvenirs
comment ca va
ou pas haha
quel temps pourri
quando torno ti racconto
chi se ne frega
che bello oggi c'è il sole
quanto mi manchi
come stai oggi
perché no dai
cosa vuoi fare, la vita è così
quando eu chegar te conto
o que importa é a saúde
que saudade de praia
qual nada
wat een dag zeg
wat leuk dat je er bent
hoe gaat het met je
waar ik ook kijk, regen
kiedy wrócę to napiszę
co tam u ciebie
jak zwykle spóźniona
czy ty mnie w ogóle słuchasz
was für ein tag heute
was solls, morgen ist auch ein tag
wie immer zu spät dran
wie gehts dir heute so
wer weiß was noch kommt
wo ich schon dabei bin, gute nacht
wann ich heut ins bett komm weiss keiner
was ein wetter
wie gesagt alles gut
was soll ich sagen, ich bin müde
wo ist nur der sommer hin
was up my friend
was so tired yesterday
wie geil ist das denn
qué tal el finde
como estas hoy
como te va la vida
che fai di bello
come va la vita
hoe is het nou met jou
jak się masz dzisiaj
que lo pases bien
q descanses guapo
q tengas buen dia
on verra bien quoi
n'importe quoi lui
mais quelle journee
oh quel beau chien
c quand meme cool
je sais pas quoi dire
la vie quoi
che giornata ho avuto oggi
ci sentiamo quando torno
"""


def test_questions_are_heard_as_chats_write_them() -> None:
    """In nine languages, without question marks or accents: "q dia viene", and "on part quand" as speech has it too."""
    asked, stated = CHATS_ASK.strip().splitlines(), CHATS_STATE.strip().splitlines()
    assert [message for message in asked if not calls_for_memories(message)] == []
    assert len([message for message in stated if calls_for_memories(message)]) <= 7, "the hard ones of them"


def test_a_thing_that_somebody_needs_is_looked_up() -> None:
    """A question may stand in no word at all."""
    assert calls_for_memories("brauch die nr vom backofen")
    assert calls_for_memories("me piden la matricula de la moto, cual era")
    assert not calls_for_memories("need a break now")
    assert not calls_for_memories(
        "we need a new phone and then some rest from it all before the long drive back home to the sea"
    )


def test_an_exclamation_asks_nothing() -> None:
    """It begins as a question does."""
    assert calls_for_memories("dove sono finite le chiavi")
    assert not calls_for_memories("wie war ich müde heute nach der arbeit!")


def test_small_talk_brings_nothing_up() -> None:
    """Greetings, thanks, wishes, moods and questions about the agent: at most 2 of 100 pass."""
    passed = [message for message in SMALL_TALK if calls_for_memories(message)]
    assert len(passed) <= 0.02 * len(SMALL_TALK), passed


def test_five_hundred_messages_of_small_talk_bring_hardly_anything_up() -> None:
    """Written by hand after the gate was made, short and in thirteen languages: at most 2 of 100 pass."""
    messages = (MONTH / "small_talk.txt").read_text("utf-8").split("\n")[:-1]
    passed = [message for message in messages if calls_for_memories(message)]
    assert len(messages) >= 500
    assert len(passed) <= 0.02 * len(messages), passed


@pytest.mark.parametrize("message", ABOUT_SOMETHING)
def test_a_message_about_something_passes(message: str) -> None:
    """Questions, names and identifiers, in several languages, also after thanks."""
    assert calls_for_memories(message)


@pytest.mark.parametrize("message", ["", " \n", "?" * 10_000, "a" * 1_000_000, "\ud800", "\0", ". " * 50_000])
def test_any_message_is_read(message: str) -> None:
    """None is about something, and none takes long."""
    assert not calls_for_memories(message)
