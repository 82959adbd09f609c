"""Words of the generated tables."""


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


FIRST = words("""
    James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard
    Susan Joseph Jessica Thomas Sarah Charles Karen Daniel Lisa Matthew Nancy Anthony Betty Mark
    Sandra Steven Ashley Ines Pedro Olga Sven Aisha Omar Yuki Chen Priya Rahul Fatima Luca Emma
    Noah Zoe Ivan Marta Jonas Clara Hugo
""")
LAST = words("""
    Smith Johnson Brown Garcia Miller Davis Rodriguez Martinez Lopez Wilson Anderson Taylor Moore
    Jackson Martin Lee Perez Thompson White Harris Clark Lewis Robinson Walker Young Allen King
    Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell
    Carter Roberts Novak Schmidt Rossi Silva Kowalski Tanaka
""")
WORDS = words("""
    Golden Royal Blue Red Little Grand Old New Silver Happy Lucky Green Sunny North River Lake
    Harbor Garden Palace Dragon Lion Olive Pepper Basil Lemon Maple Oak Stone Iron Copper Star Moon
    Sun Sky Ocean Coast Valley Hill Bridge Market Corner Village Station Union Central Atlas Apollo
    Nova Delta Alpha Vertex Summit Pioneer Liberty Heritage
""")
STREETS = words("""
    Main Oak Pine Maple Cedar Elm Washington Lake Hill Park Walnut Spring North Ridge Church Mill
    River
""")
CITIES = words("""
    Springfield Franklin Clinton Georgetown Salem Fairview Madison Arlington Ashland Dover Oxford
    Milton Newport Kingston Clayton Dayton Lexington Milford Jackson Winchester
""")
BRANDS = words("""
    Sonitron Kanova Lumex Philden Pansonia Delonix Acerra Toshira Canostar Nikora Logitec Epsilan
""")
THINGS = words("""
    camera printer monitor keyboard headphones router scanner speaker laptop projector microphone
    charger
""")
TYPES = {"Street": "St.", "Avenue": "Ave", "Road": "Rd", "Boulevard": "Blvd", "Drive": "Dr"}
SUFFIXES = {
    "Limited": "Ltd",
    "Incorporated": "Inc.",
    "Corporation": "Corp",
    "Company": "Co.",
    "Holdings": "Hldgs",
}
CUISINES = {
    "Italian": "pizza and pasta",
    "French": "bistro",
    "Chinese": "asian",
    "Mexican": "tex-mex",
    "Thai": "thai",
}
SCRIPTS = {  # last names, first names, cities
    "chinese": (
        words("""
            王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙
        """),
        words("""
            小 大 明 华 丽 强 伟 芳 娜 敏 静 军 磊 洋 勇 艳 杰 娟 涛 超
        """),
        words("""
            北京 上海 广州 深圳 成都
        """),
    ),
    "cyrillic": (
        words("""
            Иванов Петров Сидоров Кузнецов Попов Соколов Лебедев Козлов Новиков Морозов
        """),
        words("""
            Иван Пётр Сергей Анна Ольга Мария Дмитрий Алексей Елена Наталья Юрий Фёдор
        """),
        words("""
            Москва Казань Самара Омск
        """),
    ),
    "greek": (
        words("""
            Παπαδόπουλος Γεωργίου Δημητρίου Νικολάου Οικονόμου Βασιλείου Αντωνίου
        """),
        words("""
            Γιώργος Μαρία Δημήτρης Ελένη Κώστας Κατερίνα Νίκος Σοφία
        """),
        words("""
            Αθήνα Θεσσαλονίκη Πάτρα
        """),
    ),
    "arabic": (
        words("""
            محمود حسن علي إبراهيم خليل ناصر سعيد منصور
        """),
        words("""
            أحمد محمد فاطمة مريم يوسف خالد ليلى سارة
        """),
        words("""
            القاهرة بيروت دمشق
        """),
    ),
}
MONTHS = words("""
    January February March April May June July August September October November December
""")
# Country: legal forms, trades, words of names; none: those of all others.
FIRMS: dict[str, tuple[str, str, str]] = {
    "de": ("GmbH|AG|GmbH & Co. KG", "Technik Bau Logistik Energie Verlag", "Müller Größe Schön Weiß Bär"),
    "fr": ("S.A.|SARL|S.A.S.", "Technologies Bâtiment Logistique Énergie Éditions", "Château Élan Forêt"),
    "es": ("S.L.|S.A.", "Tecnología Construcción Logística Energía Editorial", "Núñez Peña Señal"),
    "us": ("Inc.|LLC|Corp.", "Technologies Construction Logistics Energy Publishing", ""),
    "pl": ("Sp. z o.o.|S.A.", "Technika Budowa Logistyka Energia Wydawnictwo", "Łódź Żuraw Świt"),
    "ru": ("ПАО|ИП|НПП", "Техника Строй Логистика Энергия Издат", "Ромашка Заря Восток Волна Звезда Луч"),
    "jp": ("株式会社|有限会社", "技術 建設 物流 電力 出版", "山田 田中 東京 大阪 中央 富士 桜 青葉 北海"),
    "gr": ("Εταιρεία|ΑΦΟΙ", "Τεχνική Κατασκευές Μεταφορές Ενέργεια", "Αθηνά Ήλιος Αιγαίο Όλυμπος Ερμής"),
}
