"""Words of each language with several forms, and words that are hard to split or to fold."""

from __future__ import annotations

LANGUAGES: dict[str, str] = {
    "Arabic": "كتاب الكتاب كتب مكتبة المكتبات يكتبون مدرسة المدارس والمعلم معلمون بالبيت بيوت",
    "Danish": "hus huset husene bøger bogen læser læste børnene barnet arbejdede arbejder større",
    "Dutch": "huizen huis boeken boek lezen gelezen kinderen kind werkte werken grotere mogelijk",
    "English": "house houses running runs ran libraries library generously national nations dogs'",
    "Finnish": "talo talossa talojen kirja kirjat kirjoissa lapsi lapset työskenteli suurempi käsi",
    "French": "maison maisons livres livre chevaux mangeait manger nationaux générale élèves été",
    "German": "Häuser Haus Bücher Buch größere Größe gelaufen laufen Straße Straßen Kinder Übung",
    "Greek": "σπίτι σπίτια βιβλίο βιβλία παιδιά παιδί μεγαλύτερος δουλεύει ΟΔΟΣ δρόμους γράμματα",
    "Hungarian": "ház házak házban könyvek könyv gyerekek gyerek nagyobb dolgozott dolgozik szép",
    "Italian": "casa case libri libro bambini bambino lavorava lavorare maggiore nazionali perché",
    "Norwegian": "hus huset husene bøker boken leser barna barnet arbeidet arbeider større veien",
    "Portuguese": "casa casas livros livro crianças criança trabalhava trabalhar nações coração",
    "Romanian": "casă case cărți carte copii copilul lucrează lucrarea naționale învățător țară",
    "Russian": "дом дома домов книги книга книгами дети ребёнок работает работали большой страны",
    "Spanish": "casa casas libros libro niños niña trabajaba trabajar naciones corazón mañana",
    "Swedish": "hus huset husen böcker boken läser läste barnen barnet arbetade större vägarna",
    "Tamil": "வீடு வீடுகள் புத்தகம் புத்தகங்கள் குழந்தை குழந்தைகள் பள்ளி பள்ளியில் மரங்கள் மரம்",
    "Turkish": "ev evler evlerde kitap kitaplar kitabın çocuk çocuklar İstanbul ışık güzel büyük",  # noqa: RUF001
}
"""Words of each of the languages that the format has."""

SPECIAL = (
    *("naïve", "ﬁnancial", "Ⅷ", "x₂", "½", "e\u0301te\u0301", "İx", "ﬀ", "Æsir", "œuvre", "ǅ"),
    *(
        "中文",
        "日本語",
        "한국어",
        "नमस्ते",
        "ก็ดี",
        "\U0001d518x",
        "a\u200db",
        "\u00adsoft",
        "a\u0000b",
    ),
    *("3.14", "foo_bar", "x@y.com", "don't", "C++", "e-mail", "\U0001f600", "a\u00a0b", "__init__"),
    *("a" * 39, "b" * 40, "é" * 20, "parseXMLFile", "getUser2", "a<<=b", "->", "ẞ", "ſ", "ŉ"),  # noqa: RUF001
)
"""Other words: ligatures, numerals, signs, scripts without spaces, very long ones."""
