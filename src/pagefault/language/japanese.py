"""Japanese. Hiragana alone is mostly grammar, which queries leave out."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

_WHAT: Final = r"(?:(?<!幾)何|なに|なん|誰|だれ|どこ|どちら|どれ|どの|どんな|どう|いつ|なぜ|どうして|いくら|いくつ|幾つ|ですか|ますか|でしたか|ましたか)"

# A line that is a noun with what describes it (*the number of pictures in the manual*), or only the
# subject of a sentence: it asks for what it names. A statement has a verb or a topic before.
_NAMED: Final = (
    r"^\W*+(?:"
    r"[^。、？！\n]{2,}(?<!今日)(?<=[一-鿿々ァ-ヺー])は"
    r"|[^。、？！\nは]{3,}(?:"
    r"[うくぐすつぬぶむるたいなの][一-鿿々ァ-ヺー][一-鿿々ァ-ヺーa-z0-9]{0,11}"
    r"|[るたいな](?:わけ|もの|やつ))"
    r")\s*$"
)

_DAYS: Final = counted(
    "一 二 三 四 五 六 七 八 九 十 十一 十二 十三 十四 十五 十六 十七 十八 十九 二十 二十一 二十二 二十三"
    " 二十四 二十五 二十六 二十七 二十八 二十九 三十 三十一"
)
_NO_COUNT: Final = "(?<![\\d先来今毎一二三四五六七八九十])"  # before the number of a month

JAPANESE: Final = Language(
    code="ja",
    script=Script.KANA,
    stop_words=words("何 私 僕 俺 君 彼 彼女 誰 事 物 時 為 方 等 的 所 中 様"),
    fillers=words(
        """
        今日 昨日 明日 今 最近 本当 一番 毎回 毎日 来月 先月 先週 来週 来年 去年 大丈夫 安心 納得 確認 必要 予定 問題 場合 感じ 自分 皆 次 前 後 間 話 見 言
        思 行 来 出 入 使 作 決 新 大 小 多 少 良 悪 高 一 二 三 上 下 円
        """
    ),
    greetings=words("はい いいえ こんにちは"),
    calendar=words(
        "今日 昨日 明日 先週 来週 今週 先月 来月 今月 去年 来年 今年 週末 曜日 月曜 火曜 水曜 木曜 金曜 土曜 日曜 午前 午後 時間 分"
    ),
    anything=words(
        "何話決言起事物 昨今一去来先前後 日月火水木金土曜週末年間 二三四五六七八九十 第最初後終上中下旬半春夏秋冬"
    ),
    dates=Dates(
        months=(
            "1|一",
            "2|二",
            "3|三",
            "4|四",
            "5|五",
            "6|六",
            "7|七",
            "8|八",
            "9|九",
            "10|十",
            "11|十一",
            "12|十二",
        ),
        weekdays=("月", "火", "水", "木", "金", "土", "日"),
        units={
            "day": "日",
            "weekend": "週末",  # before the week that it begins like
            "week": "週間?",
            "month": "[かヶケカ]?月",
            "year": "年",
        },
        near={
            "一昨日": 2,
            "おととい": 2,
            "昨日": 1,
            "きのう": 1,
            "昨夜": 1,
            "今日": 0,
            "きょう": 0,
            "今夜": 0,
        },
        days=_DAYS,
        numbers=_DAYS,
        date=rf"(?:{{y}}年\s*)?{_NO_COUNT}{{month}}月(?:\s*{{d}}日)?(?![曜末前間])",
        seasons=("春", "夏", "秋", "冬"),
        ordinals={
            "第[一1１]|最初": 1,
            "第[二2２]|二番目": 2,
            "第[三3３]|三番目": 3,
            "第[四4４]|四番目": 4,
            "最[後終]": -1,
        },
        parts={
            "上旬|初旬|初め|はじめ|頭": "early",
            "中旬|半ば|なかば": "mid",
            "下旬|末|終わり": "late",
        },
        part=rf"(?:{{y}}年\s*)?{_NO_COUNT}{{month}}月の?{{part}}",
        nth=rf"(?:{{y}}年の?\s*)?{_NO_COUNT}{{month}}月の?{{nth}}の?(?:{{weekday}}曜|{{unit}})",
        season=r"{y}年の?{season}|(?<![\u4e00-\u9fff々]){season2}(?=[にはのかまもを、。？]|$)",
        this_season=r"この{season}",
        holidays={
            "お?正月(?:三が日)?|三が日": Holiday(1, 1, 3),
            "元[日旦]": Holiday(1, 1),
            "成人の日": Holiday(1, 8, weekday=0),
            "節分": Holiday(2, 3),
            "建国記念の?日": Holiday(2, 11),
            "バレンタイン(?:デー)?": Holiday(2, 14),
            "復活祭|イースター": Holiday(0, 0),
            "ひな祭り|雛祭り": Holiday(3, 3),
            "ホワイトデー": Holiday(3, 14),
            "エイプリルフール": Holiday(4, 1),
            "ゴールデンウィーク": Holiday(4, 29, 7),
            "昭和の日": Holiday(4, 29),
            "憲法記念日": Holiday(5, 3),
            "みどりの日": Holiday(5, 4),
            "こどもの日|子供の日": Holiday(5, 5),
            "メーデー": Holiday(5, 1),
            "母の日": Holiday(5, 8, weekday=6),
            "父の日": Holiday(6, 15, weekday=6),
            "七夕": Holiday(7, 7),
            "海の日": Holiday(7, 15, weekday=0),
            "山の日": Holiday(8, 11),
            "お盆": Holiday(8, 13, 4),
            "敬老の日": Holiday(9, 15, weekday=0),
            "(?:スポーツ|体育)の日": Holiday(10, 8, weekday=0),
            "ハロウィー?ン": Holiday(10, 31),
            "文化の日": Holiday(11, 3),
            "七五三": Holiday(11, 15),
            "勤労感謝の日": Holiday(11, 23),
            "感謝祭": Holiday(11, 22, 4, weekday=3),
            "クリスマス・?イ[ブヴ]": Holiday(12, 24),
            "クリスマス": Holiday(12, 24, 3),
            "大晦日|大みそか": Holiday(12, 31),
        },
        holiday=r"(?:{y}年の?\s*)?(?<!旧){holiday}",
        before_holiday=r"(?:{y}年の?\s*)?{holiday}の(?:{n}{unit}前|前の{unit2})",
        after_holiday=r"(?:{y}年の?\s*)?{holiday}の(?:{n}{unit}後|次の{unit2})",
        year=r"{y}年(?!\s*\d{1,2}月)",
        ago=r"(?<![\d月一二三四五六七八九十百]){n}{unit}前",
        last=r"先{unit}(?!の[月火水木金土日]曜)|去{unit2}|昨{unit3}(?=[はにの、])(?<!昨日)",
        before_last=r"先々{unit}(?!の?[月火水木金土日]曜)|一昨{unit2}(?<!日)",
        this=r"今{unit}(?!の[月火水木金土日]曜)(?<!今日)",
        weekday=r"(?<!週の){weekday}曜",
        weekday_of_last_week=r"先週の{weekday}曜",
    ),
    cues={
        Cue.ASKS: rf"(?![^。？！\n]*(?:か[がはを、]?(?:わか[っり]|分か[っり]|判明)|{_WHAT}[^。、？！\n]{{0,40}}ても|なんて(?![言書呼名]|い[うっわ])|どうせ))[^。？！\n]*{_WHAT}|[^。？！\n]*(?:教えて|思い出させて|説明して|探して|見せて)",
        Cue.POINTS_BACK: r"覚えて(?:い)?(?:る|ます)|(?<![一-鿿々ァ-ヶ])前に|以前|前回|さっき|先ほど|もう一[度回]|(?:決めた|話した|言った)(?:こと|通り)",
        Cue.WONDERS: _NAMED,
        Cue.WHEN: r"[^。？！\n]*(?:いつ|何(?:年|月|日|時|曜日|週)|どのくらいの期間)",
        Cue.HOW_MANY: r"いくら|いくつ|何(?:人|個|回|円|歳|枚|本|台)|どのくらい|どれくらい",
        Cue.WHO_OR_WHERE: r"[^。？！\n]*(?:誰|だれ|どこ|どちら|どの)",
        Cue.JOINTLY: r"一緒に|二人とも|両方|共通",
        Cue.RECALLS: r"(?:何|誰|いつ|どこ|どう)[^。！\n]{0,40}(?:言った|話した|決めた|選んだ|言いました|話しました|決めました)|覚えて[^。！\n]{0,30}[?？か]|思い出させて",
        Cue.CORRECTS: r"^\W*(?:いいえ、?(?:それ|違)|違います|違う|間違)",
        Cue.DECISION: r"決定|決め|選択|採用",
        Cue.PREFERENCE: r"好き|嫌い|アレルギー",
        Cue.FACT: r"覚えて",
        Cue.TURNING: r"取消|やめ",
        Cue.NEGATION: r"無法|未|ません|ない|なかった",
        Cue.TIME: r"昨日|今日|明日|先週|来週|先月|来月|[月火水木金土日]曜|去年|来年",
        Cue.SPEAKER: r"私|僕|俺|うち",
        Cue.ASKS_AT_END: r"か[。]?$",
        Cue.COURTESY: r"ありがとう(?:ございます|ございました)?|こんにちは|おはよう(?:ございます)?|こんばんは|さようなら|おやすみ(?:なさい)?",
    },
)
