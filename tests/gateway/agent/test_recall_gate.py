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
everything I spent on the flat
when am i getting my crown done
como se chama a professora
¿quién es el veterinario?
备用钥匙在哪里？
スペアキーはどこにありますか
""".strip().splitlines()


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
