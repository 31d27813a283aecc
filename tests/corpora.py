"""Small corpora that components can learn by heart, and examples made of them."""

import re
from typing import Any

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

SENTENCES = """
The/DT old/JJ dog/NN barks/VBZ ./.
A/DT cat/NN sleeps/VBZ in/IN the/DT garden/NN ./.
Dogs/NNS bark/VBP at/IN cats/NNS ./.
She/PRP walks/VBZ to/IN the/DT market/NN ./.
They/PRP walk/VBP slowly/RB ./.
He/PRP will/MD walk/VB home/RB ./.
The/DT walk/NN was/VBD long/JJ ./.
Long/JJ walks/NNS tire/VBP old/JJ dogs/NNS ./.
The/DT will/NN of/IN the/DT king/NN is/VBZ clear/JJ ./.
Kings/NNS rule/VBP and/CC people/NNS work/VBP ./.
The/DT rule/NN works/VBZ ./.
Her/PRP$ works/NNS fill/VBP two/CD rooms/NNS ./.
Mary/NNP paints/VBZ the/DT small/JJ room/NN ./.
Bright/JJ paints/NNS dry/VBP quickly/RB ./.
John/NNP likes/VBZ his/PRP$ dry/JJ bread/NN ./.
We/PRP like/VBP cold/JJ water/NN ./.
Plants/NNS need/VBP water/NN and/CC light/NN ./.
The/DT light/JJ box/NN fell/VBD down/RB ./.
They/PRP plant/VBP trees/NNS near/IN the/DT river/NN ./.
A/DT plant/NN near/IN the/DT door/NN died/VBD ./.
You/PRP must/MD water/VB the/DT plants/NNS ./.
The/DT need/NN grows/VBZ ./.
He/PRP boxes/VBZ well/RB ./.
The/DT boxes/NNS are/VBP heavy/JJ ./.
John/NNP and/CC Mary/NNP saw/VBD a/DT film/NN ./.
The/DT saw/NN cuts/VBZ wood/NN ./.
Deep/JJ cuts/NNS hurt/VBP ./.
I/PRP saw/VBD three/CD ships/NNS ./.
He/PRP ships/VBZ goods/NNS to/IN London/NNP ./.
London/NNP lies/VBZ on/IN a/DT river/NN ./.
Lies/NNS hurt/VBP people/NNS ./.
She/PRP can/MD cut/VB wood/NN ./.
The/DT can/NN was/VBD empty/JJ ./.
Open/VB the/DT door/NN now/RB !/.
The/DT open/JJ door/NN moved/VBD ./.
They/PRP often/RB film/VBP birds/NNS ./.
Two/CD birds/NNS sang/VBD in/IN the/DT old/JJ tree/NN ./.
Can/MD you/PRP see/VB the/DT light/NN ?/.
People/NNS people/VBP the/DT land/NN ./.
The/DT ship/NN may/MD land/VB in/IN May/NNP ./.
Very/RB small/JJ birds/NNS can/MD fly/VB far/RB ./.
A/DT fly/NN sat/VBD on/IN my/PRP$ bread/NN ./.
"""

UNIVERSAL = {
    "DT": "DET", "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "JJ": "ADJ", "RB": "ADV",
    "VB": "VERB", "VBZ": "VERB", "VBP": "VERB", "VBD": "VERB", "MD": "AUX", "IN": "ADP",
    "PRP": "PRON", "PRP$": "PRON", "CC": "CCONJ", "CD": "NUM", ".": "PUNCT",
}  # fmt: skip


#: Morphological features by tag; none for others.
FEATURES = {
    "NN": "Number=Sing", "NNS": "Number=Plur", "NNP": "Number=Sing", "VB": "VerbForm=Inf",
    "VBZ": "Number=Sing|Person=3|Tense=Pres|VerbForm=Fin", "VBP": "Tense=Pres|VerbForm=Fin",
    "VBD": "Tense=Past|VerbForm=Fin", "PRP": "Case=Nom|PronType=Prs", "JJ": "Degree=Pos",
}  # fmt: skip


def tagged_sentences(text: str = SENTENCES) -> list[tuple[list[str], list[str]]]:
    """(words, tags) of each line."""
    sentences = []
    for line in text.strip().splitlines():
        pairs = [token.rsplit("/", 1) for token in line.split()]
        sentences.append(([word for word, _ in pairs], [tag for _, tag in pairs]))
    return sentences


def make_doc(vocab: Vocab, words: list[str], **annotations: Any) -> Doc:
    """A Doc of words, with spaces as they are written."""
    spaces = [following.isalnum() for following in [*words[1:], "."]]
    return Doc(vocab, words=words, spaces=spaces, **annotations)


def tagging_examples(vocab: Vocab, text: str = SENTENCES) -> list[Example]:
    """Examples with TAG and POS, a sentence each."""
    return [
        Example(
            make_doc(vocab, words),
            make_doc(vocab, words, tags=tags, pos=[UNIVERSAL[tag] for tag in tags]),
        )
        for words, tags in tagged_sentences(text)
    ]


def morphology_examples(vocab: Vocab, text: str = SENTENCES) -> list[Example]:
    """The same with POS and MORPH."""
    return [
        Example(
            make_doc(vocab, words),
            make_doc(
                vocab,
                words,
                pos=[UNIVERSAL[tag] for tag in tags],
                morphs=[FEATURES.get(tag, "") for tag in tags],
            ),
        )
        for words, tags in tagged_sentences(text)
    ]


#: Lemmas that no rule gives, by word, or by word and tag.
LEMMAS = {
    "is": "be", "are": "be", "was": "be", "fell": "fall", "sang": "sing", "sat": "sit",
    "saw/VBD": "see", "her": "she", "his": "he", "my": "I", "i": "I",
    "boxes": "box", "died": "die", "moved": "move",
}  # fmt: skip


def lemma_of(word: str, tag: str) -> str:
    lower = word.lower()
    if tag == "NNP":
        return word
    regular = lower[:-1] if tag in ("NNS", "VBZ") and lower.endswith("s") else lower
    return LEMMAS.get(f"{lower}/{tag}", LEMMAS.get(lower, regular))


def lemma_examples(vocab: Vocab, text: str = SENTENCES) -> list[Example]:
    """The same with LEMMA alone."""
    return [
        Example(
            make_doc(vocab, words),
            make_doc(vocab, words, lemmas=list(map(lemma_of, words, tags))),
        )
        for words, tags in tagged_sentences(text)
    ]


ENTITIES = """
[Mary Smith]PER lives in [London]LOC .
[Smith]PER works for [Acme Steel]ORG .
The shares of [Acme]ORG fell on Monday .
[John]PER met [Mary]PER in [Paris]LOC .
Yesterday [Paris Jones]PER sang in [Berlin]LOC .
[Jones Brothers]ORG makes shoes in [New York]LOC .
We flew to [York]LOC and then to [New Delhi]LOC .
[Delhi]LOC is warm in May .
May I see [May Miller]PER ?
The miller sold his mill .
[Miller]PER left [Berlin Motors]ORG last year .
The motors of the ship were old .
[King John]PER signed the letter .
A king and a queen live in the castle .
[Queen Anne]PER was born in [London]LOC .
[London Bank]ORG paid [Anne Miller]PER .
They sat on the bank of the river .
The [Bank of Delhi]ORG opened in June .
June was wet in [England]LOC .
[June Smith]PER likes the [United Nations]ORG .
[England]LOC beat [France]LOC again .
He reads books about [France]LOC and about steel .
The smith made a sword of steel .
[United Steel]ORG and [Acme]ORG agreed .
[North Motors]ORG hired [Peter]PER in March .
They march north every spring .
[Peter North]PER sells apples and pears .
[North York]LOC lies near the sea .
Nobody came to the party .
[Anne]PER and [Peter]PER bought a house in [Paris]LOC !
The house of [King]PER is near [Kings Road]LOC .
Roads were closed in [Berlin]LOC on Friday .
Who is the head of [Paris Air]ORG ?
The air is clean in [New England]LOC .
[Friday]PER helped his friend on the island .
Is [Jordan]LOC far from here ?
[Jordan Brown]PER played for [Brown University]ORG .
Brown bread is good .
[Michael Jordan]PER flew with [France Air]ORG to [Jordan]LOC .
The university is new .
"""

CHUNKS = """
[The old dog]NP [barks]VP .
[A cat]NP [is sleeping]VP [in]PP [the garden]NP .
[Dogs]NP [bark]VP [at]PP [cats]NP .
[She]NP [walks]VP [to]PP [the market]NP [every day]NP .
[They]NP [will walk]VP slowly .
[The long walk]NP [was]VP hard .
[Long walks]NP [tire]VP [old dogs]NP .
[The will]NP [of]PP [the king]NP [is]VP clear .
[Kings]NP [rule]VP and [people]NP [work]VP .
[The rule]NP [works]VP .
[Her works]NP [fill]VP [two rooms]NP .
[Mary]NP [paints]VP [the small room]NP .
[Bright paints]NP [dry]VP quickly .
[John]NP [likes]VP [his dry bread]NP .
[Plants]NP [need]VP [water]NP and [light]NP .
[The light box]NP [fell]VP down .
[They]NP [have planted]VP [trees]NP [near]PP [the river]NP .
[You]NP [must water]VP [the plants]NP [every evening]NP .
[The need]NP [grows]VP .
[He]NP [gave]VP [the dog]NP [a bone]NP .
[The boxes]NP [are]VP heavy .
[John]NP and [Mary]NP [saw]VP [a film]NP .
[The saw]NP [cuts]VP [wood]NP .
[Deep cuts]NP [can hurt]VP .
[I]NP [saw]VP [three ships]NP [this morning]NP .
[He]NP [ships]VP [goods]NP [to]PP [London]NP .
[She]NP [can cut]VP [wood]NP .
[The can]NP [was]VP empty .
Now [open]VP [the door]NP !
[They]NP [film]VP [birds]NP [in]PP [the old tree]NP .
[Two birds]NP [sang]VP .
Yes .
[My brother]NP [sent]VP [me]NP [a letter]NP [last week]NP .
[A fly]NP [sat]VP [on]PP [my bread]NP .
[Very small birds]NP [can fly]VP far .
"""

PARAGRAPHS = """
He met Dr. Smith at noon. | They talked for an hour.
the price was 3.50 | too much for me | i went home
Is it late? | It is. | Go home!
She asked "Why?" and left. | Nobody knew why.
We saw Mr. Brown, Mrs. Green and Dr. White. | Dr. Brown was away.
Wait... what is that? | It is a bird. | No... it is a kite.
Yahoo! is a company. | So is IBM.
Thanks | Peter
Dear Anne, | the train leaves at 5 p.m. on Friday. | Bring a book.
It rained. | And then it rained again. | We stayed in.
He lives on St. James St. near the park. | It is quiet.
The U.S. won. | The U.K. lost. | Both played well.
I like tea. | you like coffee. | who likes milk?
Oh no! | Not again! | Stop it, Peter!
( It was dark. ) | ( Nobody came. ) | We left.
1. Mix the flour. | 2. Add water. | 3. Bake for 20 minutes.
See p. 5 and p. 6. | Then read p. 7.
Hi Mary, | how are you? | Best, | John
The end
"""

PARSES = """
The:3:det old:3:amod dog:4:nsubj barks:0:ROOT .:4:punct
A:2:det cat:3:nsubj sleeps:0:ROOT in:3:prep the:6:det garden:4:pobj .:3:punct
Dogs:2:nsubj bark:0:ROOT at:2:prep cats:3:pobj .:2:punct
She:2:nsubj walks:0:ROOT to:2:prep the:5:det market:3:pobj .:2:punct
They:2:nsubj walk:0:ROOT slowly:2:advmod .:2:punct
He:3:nsubj will:3:aux walk:0:ROOT home:3:advmod .:3:punct
The:2:det walk:3:nsubj was:0:ROOT long:3:acomp .:3:punct
Long:2:amod walks:3:nsubj tire:0:ROOT old:5:amod dogs:3:dobj .:3:punct
The:2:det will:6:nsubj of:2:prep the:5:det king:3:pobj is:0:ROOT clear:6:acomp .:6:punct
Kings:2:nsubj rule:0:ROOT and:2:cc people:5:nsubj work:2:conj .:2:punct
The:2:det rule:3:nsubj works:0:ROOT .:3:punct
Her:2:poss works:3:nsubj fill:0:ROOT two:5:nummod rooms:3:dobj .:3:punct
Mary:2:nsubj paints:0:ROOT the:5:det small:5:amod room:2:dobj .:2:punct
Bright:2:amod paints:3:nsubj dry:0:ROOT quickly:3:advmod .:3:punct
John:2:nsubj likes:0:ROOT his:5:poss dry:5:amod bread:2:dobj .:2:punct
We:2:nsubj like:0:ROOT cold:4:amod water:2:dobj .:2:punct
Plants:2:nsubj need:0:ROOT water:2:dobj and:3:cc light:3:conj .:2:punct
The:3:det light:3:amod box:4:nsubj fell:0:ROOT down:4:advmod .:4:punct
They:2:nsubj plant:0:ROOT trees:2:dobj near:2:prep the:6:det river:4:pobj .:2:punct
A:2:det plant:6:nsubj near:2:prep the:5:det door:3:pobj died:0:ROOT .:6:punct
You:3:nsubj must:3:aux water:0:ROOT the:5:det plants:3:dobj .:3:punct
The:2:det need:3:nsubj grows:0:ROOT .:3:punct
He:2:nsubj boxes:0:ROOT well:2:advmod .:2:punct
The:2:det boxes:3:nsubj are:0:ROOT heavy:3:acomp .:3:punct
John:4:nsubj and:1:cc Mary:1:conj saw:0:ROOT a:6:det film:4:dobj .:4:punct
The:2:det saw:3:nsubj cuts:0:ROOT wood:3:dobj .:3:punct
Deep:2:amod cuts:3:nsubj hurt:0:ROOT .:3:punct
I:2:nsubj saw:0:ROOT three:4:nummod ships:2:dobj .:2:punct
He:2:nsubj ships:0:ROOT goods:2:dobj to:2:prep London:4:pobj .:2:punct
London:2:nsubj lies:0:ROOT on:2:prep a:5:det river:3:pobj .:2:punct
Lies:2:nsubj hurt:0:ROOT people:2:dobj .:2:punct
She:3:nsubj can:3:aux cut:0:ROOT wood:3:dobj .:3:punct
The:2:det can:3:nsubj was:0:ROOT empty:3:acomp .:3:punct
Open:0:ROOT the:3:det door:1:dobj now:1:advmod !:1:punct
The:3:det open:3:amod door:4:nsubj moved:0:ROOT .:4:punct
They:3:nsubj often:3:advmod film:0:ROOT birds:3:dobj .:3:punct
Two:2:nummod birds:3:nsubj sang:0:ROOT in:3:prep the:7:det old:7:amod tree:4:pobj .:3:punct
Can:3:aux you:3:nsubj see:0:ROOT the:5:det light:3:dobj ?:3:punct
People:2:nsubj people:0:ROOT the:4:det land:2:dobj .:2:punct
The:2:det ship:4:nsubj may:4:aux land:0:ROOT in:4:prep May:5:pobj .:4:punct
Very:2:advmod small:3:amod birds:5:nsubj can:5:aux fly:0:ROOT far:5:advmod .:5:punct
A:2:det fly:3:nsubj sat:0:ROOT on:3:prep my:6:poss bread:4:pobj .:3:punct
"""

_SPAN = re.compile(r"\[([^]]+)\](\w+)|(\S+)")


def spans_of(line: str) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Words and (start, end, type) of a line such as: [Mary Smith]PER sings ."""
    words: list[str] = []
    spans = []
    for inside, kind, word in _SPAN.findall(line):
        start = len(words)
        words += inside.split() if kind else [word]
        if kind:
            spans.append((start, len(words), kind))
    return words, spans


def entity_examples(vocab: Vocab, text: str = ENTITIES) -> list[Example]:
    """Examples with entities, a line each."""
    examples = []
    for words, spans in map(spans_of, text.strip().splitlines()):
        reference = make_doc(vocab, words)
        reference.set_ents([Span(reference, *span) for span in spans])
        examples.append(Example(make_doc(vocab, words), reference))
    return examples


def chunk_examples(vocab: Vocab, text: str = CHUNKS, key: str = "chunks") -> list[Example]:
    """Examples with spans under a key, a line each."""
    examples = []
    for words, spans in map(spans_of, text.strip().splitlines()):
        reference = make_doc(vocab, words)
        reference.spans[key] = [Span(reference, *span) for span in spans]
        examples.append(Example(make_doc(vocab, words), reference))
    return examples


def paragraph_examples(vocab: Vocab, text: str = PARAGRAPHS) -> list[Example]:
    """Examples with sentence boundaries, written as |, a line each."""
    tokenizer = spacy.blank("en").tokenizer
    examples = []
    for line in text.strip().splitlines():
        sentences = [tokenizer(sentence) for sentence in line.split(" | ")]
        words = [token.text for sentence in sentences for token in sentence]
        spaces = [
            bool(token.whitespace_) or token.i == len(sentence) - 1
            for sentence in sentences
            for token in sentence
        ]
        spaces[-1] = False
        starts = [token.i == 0 for sentence in sentences for token in sentence]
        reference = Doc(vocab, words=words, spaces=spaces, sent_starts=starts)
        examples.append(Example(Doc(vocab, words=words, spaces=spaces), reference))
    return examples


#: A Doc in each line: lines, separated by " / ", with their labels.
LABELLED_LINES = """
We study birds .:aim / They sing in old trees .:setting / We count their songs .:method
Birds sing .:setting / We ask why they sing .:aim / We watch them :method / They sang often !:result
Old trees fall in winter .:setting / We study old trees .:aim / The trees fell early .:result
Songs of birds are long .:setting / We count songs :method / Birds sang less in winter .:result
We ask how trees fall .:aim / Trees are old and tall .:setting / We watch trees in winter .:method
Birds sing .:setting / Birds sing .:aim / Birds sing .:method / Birds sing .:result
Trees fall .:setting / Old trees fall .:method / Trees fall .:result / Trees fall .:result
Songs are long .:aim / Songs are long .:setting / We count birds .:method
"""


def labelled_examples(
    vocab: Vocab, text: str = LABELLED_LINES, key: str = "sentence_labels"
) -> list[Example]:
    """Examples of lines with labels, a Doc each."""
    examples = []
    for doc in text.strip().splitlines():
        words: list[str] = []
        spans = []
        for line in doc.split(" / "):
            words += ["\n"] if words else []
            content, label = line.rsplit(":", 1)
            spans.append((len(words), len(words) + len(content.split()), label.strip()))
            words += content.split()
        reference = make_doc(vocab, words)
        reference.spans[key] = [Span(reference, *span) for span in spans]
        examples.append(Example(make_doc(vocab, words), reference))
    return examples


def parse_of(line: str) -> tuple[list[str], list[int], list[str]]:
    """Words, heads and labels of a line such as: Birds:2:nsubj sing:0:ROOT; 0 is the root."""
    tokens = [token.rsplit(":", 2) for token in line.split()]
    heads = [int(head) - 1 if head != "0" else i for i, (_, head, _) in enumerate(tokens)]
    return [word for word, _, _ in tokens], heads, [label for _, _, label in tokens]


def parsed_doc(vocab: Vocab, *lines: str) -> Doc:
    """A Doc with the tree of each line."""
    words, heads, labels = [], [], []
    for of_words, of_heads, of_labels in map(parse_of, lines):
        heads += [len(words) + head for head in of_heads]
        words += of_words
        labels += of_labels
    return make_doc(vocab, words, heads=heads, deps=labels)


def parsing_examples(vocab: Vocab, text: str = PARSES) -> list[Example]:
    """Examples with dependency trees, a sentence each."""
    references = [parsed_doc(vocab, line) for line in text.strip().splitlines()]
    return [
        Example(make_doc(vocab, [token.text for token in reference]), reference)
        for reference in references
    ]
