"""English."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_TH: Final = "(?:st|nd|rd|th)"
_MODAL_BEFORE: Final = (
    r"(?:not|be|have|also|only|still|just|even|never|well|already|need|want|fail|take|get|go|come|become|cause|contain|include"
    r"|require|lead|seem|occur|happen|differ|vary|apply|depend|exist|break|give|make|lose|miss|help|or\s+may)\b"
)
_NO_YEAR_BEFORE: Final = (
    r"(?:words|people|feet|dollars|euros|pounds|miles|met(?:er|re)s|pieces|steps|lines|pages|tokens|bytes|characters|chars|rows"
    r"|items|files|times|calls|messages|ms|kb|mb)\b"
)
_TO: Final = "(?:-|–|to|until|till|thru|through)"
_NO_SUBJECT: Final = "".join(
    rf"(?<!\b{one}\s)"
    for one in r"who\sis who\swas old\sis old\swas did does has had will would can could should tell told ask asked give gave met".split()
)
_INTERROGATIVE: Final = r"(?:who|whom|whose|what|which|when|where|why|how)\b"
_COURTESY: Final = (
    r"(?:(?:hello|hi|hey)(?: (?:there|again|everybody|everyone|all|guys))?"
    r"|(?:good )?(?:bye|goodbye)(?: for now)?|see you(?: soon| later)?|take care|cheers"
    r"|(?:many )?thanks(?: again| a lot| so much| a million| very much)?"
    r"|thank you(?: again| so much| very much)?|you're (?:very |most |so )?welcome"
    r"|congrats|congratulations|greetings|wow|yay|haha|lol"
    r"|have a (?:nice|great|good|lovely|wonderful) (?:day|evening|weekend|week|one|trip|time)"
    r"|how are (?:you|things)(?: doing)?(?: today| these days)?)"
)

ENGLISH: Final = Language(
    code="en",
    script=Script.LATIN,
    snowball="english",
    stop_words=words(
        """
        a about above after again against all am an and any are as at be because been before being
        below between both but by can could did do does doing down during each few for from further
        had has have having he her here hers herself him himself his how i if in into is it its
        itself just let many me might more most much must my myself no nor not now of off on once
        only or other our ours ourselves out over own same shall she should so some such than that
        the their theirs them themselves then there these they this those through to too under until
        up upon us very was we were what when where which while who whom whose why will with would
        you your yours yourself yourselves d ll m re s t ve don doesn didn isn wasn weren hasn haven
        hadn won wouldn shouldn couldn ain aren mustn mightn cannot dont doesnt didnt isnt arent
        wasnt werent havent hasnt hadnt wont wouldnt shouldnt couldnt cant im ive hes shes theyre
        theyve theyll youre youve youll weve thats whats whos wheres whens whys hows theres heres
        """
    ),
    function_words=words(
        """
        across ago almost along already also although always among another anyone anything
        anyway around away back behind besides done either else enough even ever every everyone
        everything however indeed instead least less like may maybe mine near
        neither never nobody none nothing often one onto others otherwise per perhaps quite
        rather several since somebody someone something sometimes somewhere soon still therefore
        though throughout thus together toward towards unless via well whatever whenever whereas
        wherever whether whoever whole within without yes yet
        """
    ),
    fillers=words(
        """
        absolutely actually agree agreed ah aha alright amazing appreciate aw awesome aww
        basically beautiful bet bit brilliant bye care catch certainly chat cheer cheers
        congrats congratulations cool course curious dear decide decided definitely ditto doubt
        enjoy especially exactly excellent excited exciting fabulous fantastic feel feeling fine
        forward fun funny glad glorious go goes going gonna good goodbye gosh got gotcha gotta
        great guess guy guys haha happy hear heard hello hey hi hmm honest honestly hooray hope
        hopefully huge hugs idea impressive incredible inspiring interesting keep kind kinda
        know later literally lol look looking looks lot lots lovely luck made make makes making
        man matter mean mind morning neat need new nice nope obviously oh ok okay omg ooh oops
        opinion ouch people perfect please pleased pleasure pretty probably proud put question
        really remember right said say saying see seem seems share sharing simply sir sorry sort
        sound sounds special stay stuff super support sure surely sweet take talk tell terrific
        thank thanks thing things think thinking thought time totally tough truly try trying
        tune ugh understand update use used uses using usually wait wanna want watch way welcome
        whoa wish wishes wonder wonderful word world worries worry worth wow ya yay yeah yep yo
        yup
        """
    ),
    pleasantries=words(
        """
        amazing aw awesome aww beautiful bet bye cheers congrats congratulations cool evening
        excited exciting fantastic fun glad good goodbye great greetings haha happy hello hey hi
        hope impressive incredible inspiring lol lovely luck morning neat nice proud rooting sounds
        super sweet thank thanks welcome whoa woah wonderful wow yay
        """
    ),
    around_pleasantries=words(
        """
        a about again all also always am an and any are as at be been being by catch chat couldn day
        did do does doing even ever every everyone everything feel feeling feels for forward from
        get getting gonna got guess guys had happen happened has have hear heard hearing her here
        him his how i i'd i'll i'm i've if imagine in is it it'll it's its just keep kind know later
        like look looking looks lot lots loved made make makes man me means mind more much must my
        new of oh on once or our out part person pretty really right said say see seeing seem seems
        share sharing she so some something soon sound special stuff such take talk talking tell
        thanks that that's the their them there they thing things think this those thought time to
        today together too totally touch truly up us very was way we we're well went were what
        what's when who will wish with word work worth would ya yeah you you'd you'll you're
        you've your yourself
        """
    ),
    assents=words(
        """
        agree agreed approved can confirmed correct could deal done exactly fine go let let's lets
        must need ok okay perfect please ready right should stop sure try wait want will works world
        yep yes yup
        """
    ),
    greetings=words("hi hey hello ok okay yes no yeah thanks thank wow sure great"),
    irregular="""
        become: became
        begin: began begun
        bite: bit bitten
        blow: blew blown
        break: broke broken
        bring: brought
        build: built
        buy: bought
        catch: caught
        choose: chose chosen choice
        come: came
        deal: dealt
        dig: dug
        draw: drew drawn
        drink: drank drunk
        drive: drove driven
        eat: ate eaten
        fall: fell fallen
        feed: fed
        feel: felt
        fight: fought
        find: found
        fly: flew flown flight
        forget: forgot forgotten
        forgive: forgave forgiven
        freeze: froze frozen
        get: got gotten
        give: gave given
        go: went gone
        grow: grew grown growth
        hang: hung
        hear: heard
        hide: hid hidden
        hold: held
        keep: kept
        know: knew known knowledge
        leave: left
        lay: laid
        lead: led
        lend: lent
        lose: lost loss
        make: made
        mean: meant
        meet: met
        pay: paid
        ride: rode ridden
        ring: rang rung
        rise: risen
        run: ran
        say: said
        see: saw seen
        seek: sought
        sell: sold sale
        send: sent
        shake: shook shaken
        shine: shone
        shoot: shot
        show: shown
        sing: sang sung
        sink: sank sunk
        sit: sat
        sleep: slept
        speak: spoke spoken speech
        spend: spent
        stand: stood
        steal: stole stolen
        stick: stuck
        strike: struck
        swear: swore sworn
        sweep: swept
        swim: swam swum
        take: took taken
        teach: taught
        tear: tore torn
        tell: told
        think: thought
        throw: threw thrown
        understand: understood
        wake: woke woken
        wear: wore worn
        win: won
        write: wrote written
        child: children kid kids
        father: dad daddy papa
        foot: feet
        goose: geese
        grandfather: grandpa
        grandmother: grandma granny
        half: halves
        knife: knives
        loaf: loaves
        man: men
        mother: mom mommy mum mama
        mouse: mice
        person: people
        photograph: photo photos
        picture: pic pics
        scarf: scarves
        shelf: shelves
        thief: thieves
        tooth: teeth
        wife: wives
        wolf: wolves
        woman: women
        allergy: allergic
        analyze: analysis analyse
        anxiety: anxious
        behave: behavior behaviour
        believe: belief
        bleed: blood
        catalog: catalogue
        center: centre
        color: colour
        compare: comparison
        conclude: conclusion
        decide: decision
        deep: depth
        describe: description
        destroy: destruction
        die: death dead
        divide: division
        epilepsy: epileptic
        exceed: excess
        expand: expansion
        explain: explanation
        explode: explosion
        extend: extension
        fail: failure
        favor: favour
        favorite: favourite
        gray: grey
        hate: hatred
        high: height
        hungry: hunger
        include: inclusion
        introduce: introduction
        invade: invasion
        laugh: laughter
        long: length
        maintain: maintenance
        marry: marriage
        move: movement
        permit: permission
        persuade: persuasion
        poor: poverty
        program: programme
        prove: proof
        receive: receipt
        recognize: recognition
        reduce: reduction
        repeat: repetition
        strong: strength
        submit: submission
        subscribe: subscription
        succeed: success
        theater: theatre
        thirsty: thirst
        transmit: transmission
        warm: warmth
        weigh: weight
        wide: width
        young: youth
    """,
    opposites=words(
        """
        no not nor neither never none nobody nothing nowhere cannot cant dont doesnt didnt wont wouldnt
        isnt arent wasnt werent shouldnt couldnt havent hasnt hadnt mustnt without hardly barely except
        unless instead
        yes yeah true false on off in out up down left right before after above below over under more
        less most least first last only all any some every each both either always sometimes often
        rarely seldom usually until since if
        can could may might must should shall will would need
        i me my mine you your yours he him his she her hers we us our ours they them their theirs
        zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
        sixty seventy eighty ninety hundred thousand million billion dozen half quarter once twice
        second third
        yesterday today tonight tomorrow ago next now then later soon already still week weekend day
        month year hour minute morning noon afternoon evening night midnight monday tuesday wednesday
        thursday friday saturday sunday january february march april june july august september october
        november december spring summer autumn winter north south east west
        add remove insert delete create destroy enable disable allow deny forbid accept reject refuse
        approve decline grant revoke confirm cancel open close start stop begin end finish pass fail
        succeed success failure error warning ok okay win lose buy sell lend borrow give take send
        receive push pull increase decrease rise fall raise lower gain loss grow shrink high low hot
        cold warm cool big small large little long short tall wide narrow old new young early late
        fast slow good bad best worst better worse right wrong correct incorrect valid invalid same
        different equal like dislike love hate want agree disagree keep drop include exclude active
        inactive available unavailable online offline running stopped connected disconnected public
        private internal external production staging development prod dev test live local remote
        man woman boy girl husband wife brother sister father mother son daughter
        black white
        """
    ),
    names_nothing=words(
        """
        a an the this that these those there here it its is are was were be been being am has have had
        do does did and or but so as at by for from of to with about into than too very just also
        however what when where which who whom whose why how let please thanks thank hello hi hey dear
        again sorry well
        """
    ),
    times=words(
        """
        yesterday today tonight tomorrow ago last next week weekend month year recently since
        monday tuesday wednesday thursday friday saturday sunday january february march april
        june july august september october november december
        """
    ),
    numbers=words(
        "one two three four five six seven eight nine ten twelve dozen hundred once twice"
    ),
    exact_numbers=tuple(
        "two three four five six seven eight nine ten eleven twelve dozen hundred thousand million"
        " billion half twice".split()
    ),
    anything=words(
        """
        happen talk discuss say tell speak chat mention go do share news new anything something
        everything one two three four five six day week weekend month year yesterday today tonight
        last past ago first second third fourth early mid middle late beginning start end
        spring summer autumn fall winter
        monday tuesday wednesday thursday friday saturday sunday january february march april may
        june july august september october november december
        palm holy good easter ascension whitsun pentecost years eve epiphany valentine valentines
        halloween thanksgiving christmas xmas boxing before after
        """
    ),
    calendar=words(
        """
        monday tuesday wednesday thursday friday saturday sunday january february march april may
        june july august september october november december today tomorrow yesterday week weeks
        month months year years day days hour hours minute minutes tonight weekend
        """
    ),
    joins=words("and or nor"),
    dates=Dates(
        months=(
            "jan(?:uary)?",
            "feb(?:ruary)?",
            "mar(?:ch)?",
            "apr(?:il)?",
            rf"may(?!\s+{_MODAL_BEFORE})",  # "items 3 to 5 may be late"
            "june?",
            "july?",
            "aug(?:ust)?",
            "sept?(?:ember)?",
            "oct(?:ober)?",
            "nov(?:ember)?",
            "dec(?:ember)?",
        ),
        weekdays=WEEKDAYS,
        units={
            "day": "days?",
            "week": "weeks?",
            "weekend": "weekend",
            "month": "months?",
            "year": "years?",
        },
        near={"day before yesterday": 2, "yesterday": 1, "today": 0, "tonight": 0},
        numbers=counted("a/an/one two three four five six seven eight nine ten eleven twelve"),
        days=counted(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
            " sixteenth seventeenth eighteenth nineteenth twentieth twenty[-\\s]first twenty[-\\s]second twenty[-\\s]third"
            " twenty[-\\s]fourth twenty[-\\s]fifth twenty[-\\s]sixth twenty[-\\s]seventh twenty[-\\s]eighth"
            " twenty[-\\s]ninth thirtieth thirty[-\\s]first"
        ),
        # "What did April eat?" and "April is 10" are of a person; "you may first" is no date.
        date=(
            rf"\b(?:(?=\d){{d}}{_TH}?\s+(?:of\s+)?|(?=[efnst]){{d3}}\s+of\s+)?(?=[adfjmnos])"
            rf"(?:(?!(?:april|june|august)\b)|(?=\w+,?\s+(?:of\s+)?\d)|{_NO_SUBJECT}(?!\w+\s+is\s+\d+\s*[.,;!?])){{month}}\b\.?"
            rf"(?:(?:\s+(?=\d)|(?<!\.)\s+(?:the\s+|(?<!\bmay\s)(?<!\bmarch\s)|(?!first|second|third))){{d2}}{_TH}?\b)?(?:,?\s*(?:of\s+)?{{y}}\b)?"
        ),
        span=(
            rf"\b(?P<d>\d{{1,2}}){_TH}?\s*{_TO}\s*(?:the\s+)?(?P<d2>\d{{1,2}}){_TH}?\s+(?:of\s+)?{{month}}\b\.?"
            rf"(?:,?\s*(?:of\s+)?{{y}}\b)?"
            rf"|\bbetween\s+(?:the\s+)?(?P<d3>\d{{1,2}}){_TH}?\s+and\s+(?:the\s+)?(?P<d4>\d{{1,2}}){_TH}?\s+(?:of\s+)?{{month2}}\b\.?"
            rf"(?:,?\s*(?:of\s+)?{{y2}}\b)?"
            rf"|\b{{month3}}\.?\s+(?P<d5>\d{{1,2}}){_TH}?\s*{_TO}\s*(?:(?P=month3)\.?\s+)?(?P<d6>\d{{1,2}}){_TH}?\b(?:,?\s*(?:of\s+)?{{y3}}\b)?"
        ),
        short=(
            rf"\b(?:[Oo]n|[Bb]y|[Ss]ince|[Bb]efore|[Aa]fter|[Uu]ntil|[Ff]rom)\s+the\s+{{d}}{_TH}\b"
            r"(?=\s*(?:[,;:.!?]|$)|\s+(?:I|we|you|he|she|they|it|did|was|were|and|or|at|with|when)\b)"
        ),
        seasons=("spring", "summer", "autumn|fall", "winter"),
        ordinals={
            "first|1st": 1,
            "second|2nd": 2,
            "third|3rd": 3,
            "fourth|4th": 4,
            "last|final": -1,
        },
        parts={
            "early|beginning|start": "early",
            "mid|middle": "mid",
            "late|end": "late",
        },
        part=r"\b{part}(?:\s+(?:of|in)\s+|[\s-]+){month}\b\.?(?:,?\s*(?:of\s+)?{y}\b)?",
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:of|in)\s+{month}\b\.?"
            r"(?:,?\s*(?:of\s+)?{y}\b)?"
        ),
        season=(
            r"\b{season}\s+(?:of\s+)?{y}\b"
            r"|\b(?:in|during|over|since|of)\s+(?:the\s+)?{season2}\b(?!\s+(?:of\s+)?(?:19|20)\d\d)"
        ),
        last_season=r"\b(?:last|past)\s+{season}\b",
        this_season=r"\bthis\s+{season}\b",
        year=rf"\b(?:in|of|since|during|from)\s+{{y}}\b(?!-|\s+{_NO_YEAR_BEFORE})",
        ago=(
            r"\b(?<!(?:twen|thir|eigh|nine)ty[ -])(?<!(?:for|fif|six)ty[ -])(?<!seventy[ -])"
            r"(?<!hundred and ){n}\s+{unit}\s+ago\b"
        ),
        last=r"\b(?:last|past)\s+{unit}(?<!s)\b",
        before_last=r"\b{unit}\s+before\s+last\b(?!\s+(?:{unit2}|{weekday}|{season}|{holiday}))",
        this=r"\bthis\s+{unit}(?<!s)\b",
        weekday=(
            r"\b(?:last|on|this|past)\s+{weekday}\b"
            rf"(?!,?\s+(?:the\s+)?(?:\d|(?:{'|'.join(MONTHS)})\s+\d))"  # of a date
        ),
        holidays={
            "palm sunday": Holiday(0, -7),
            "holy week": Holiday(0, -6, 7),
            "good friday": Holiday(0, -2),
            "easter sunday": Holiday(0, 0),
            "easter monday": Holiday(0, 1),
            "easter(?: weekend)?": Holiday(0, -2, 4),
            "ascension day": Holiday(0, 39),
            "whitsun|pentecost": Holiday(0, 49, 2),
            "new year['’]?s eve": Holiday(12, 31),
            "new year(?:['’]?s)?(?: day)?": Holiday(1, 1),
            "epiphany": Holiday(1, 6),
            "valentine['’]?s(?: day)?": Holiday(2, 14),
            "halloween": Holiday(10, 31),
            "thanksgiving": Holiday(11, 22, 4, weekday=3),
            "(?:christmas|xmas) eve": Holiday(12, 24),
            "(?:christmas|xmas) day": Holiday(12, 25),
            "boxing day": Holiday(12, 26),
            "christmas|xmas": Holiday(12, 24, 3),
        },
        # A new year alone is no day, except where people go by it.
        holiday=(
            r"\b(?!new year\b(?!['’]|\s+day\b)){holiday}\b(?:,?\s*(?:of\s+|in\s+)?{y}\b)?"
            r"|\bat\s+{holiday2}\b(?:,?\s*(?:of\s+|in\s+)?{y2}\b)?"
        ),
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+before\s+{holiday}\b(?:,?\s*(?:of\s+|in\s+)?{y}\b)?"
        ),
        after_holiday=(r"\b(?:{n}\s+)?{unit}\s+after\s+{holiday}\b(?:,?\s*(?:of\s+|in\s+)?{y}\b)?"),
        doubtful_months=frozenset(
            words("may march jan feb mar apr jun jul aug sep sept oct nov dec")
        ),
        before_a_month=(
            r"\b(?:in|of|since|until|till|by|during|last|this|early|mid|late|end|before|after)\W+$"
        ),
    ),
    cues={
        Cue.ASKS: (
            rf"(?!what an?\b|how (?!(?:is|are|was|were|do|does|did|can|could|would|will|has|had|come)\b)\w+ that\b|(?:what|when|where|why|how) (?:i|we|he|she|they|it)\b|when (?:the|my|our|you)\b)"
            rf"(?:(?:(?:so|and|but|ok|okay|hey|hi|well|wait|sorry|oh|btw)\W+){{0,2}}{_INTERROGATIVE}"
            r"|is|are|was|were|do|does|did|can|could"
            r"|should|would|will|has|have|had|tell|show|list|find|give|recall|remind|explain"
            r"|describe|summari[sz]e)\b"
        ),
        Cue.POINTS_BACK: (
            r"\b(?:remember|earlier|previously|(?:as|like) before|before(?! \w)|last time|again|back then"
            r"|as (?:we|you|i) "
            r"(?:said|decided|agreed|discussed|mentioned|told)"
            r"|we (?:decided|agreed|discussed|talked|worked out|settled on)"
            r"|you (?:said|suggested|recommended|told|mentioned|gave|proposed))\b"
        ),
        Cue.WONDERS: (
            r"\b(?:wonder\w*|curious|ask(?:s|ed|ing)|forg[eo]t\w*|slipped my mind|no (?:idea|clue)|unsure|blank(?:ed|ing)? on"
            r"|lost track of|not (?:quite |entirely |really )?(?:sure|certain)"
            r"|(?:can['’]?t|cannot|couldn['’]?t|don['’]?t|do not|didn['’]?t|doesn['’]?t|never) (?:quite |really |even |seem to )?"
            r"(?:know|remember|recall|find|think of)"
            r"|(?:want|wants|wanted|need|needs|needed|like|love|try|trying|good|nice|helpful) to "
            r"(?:know|hear|see|check|find out|look up|confirm|recall|remember)"
            r"|let (?:me|him|her|them|us) know|tell \w+)\b[^.!?\n]{0,40}?\b(?:who|whom|whose|what|which|when|where|why|how|whether)\b"
            r"|\b(?:need|needs|wants) (?:the|our|that)\b"
            r"|\b(?:can['’]?t|cannot|couldn['’]?t|don['’]?t|do not) (?:quite |really |even )?(?:remember|recall|think of)"
            r" (?:the|our|that|his|her|their)\b(?! (?:last|first) time\b)"
        ),
        Cue.WHEN: (
            r"(?:when|how long|how recently|(?:(?:in|on|since|by|until) )?(?:what|which) "
            r"(?:year|month|week|day|date|time))\b"
        ),
        Cue.HOW_MANY: r"\bhow (?:many|much|often|old|long|far|big|tall)\b",
        Cue.WHO_OR_WHERE: r"(?:where|who|whom|whose|which)\b",
        Cue.JOINTLY: r"\b(?:both|together|each other|in common)\b",
        Cue.INTERROGATIVE: _INTERROGATIVE,
        Cue.INVERTED: (
            r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\s+"
            r"(?:i|we|you|he|she|it|they|there|this|that|the|my|our|your|his|her|its|their)\b"
        ),
        Cue.TELL_ME: r"(?:tell|remind|show)\s+me\b",
        Cue.LEADS_IN: r"please|and|also|so",
        Cue.JOINS_CLAUSES: r"(?:and|or|but)\s+(?:also\s+|then\s+)?",
        Cue.RELATIVE: r"(?:that|who|which)\b",
        Cue.PERSON: r"\b(?:he|she|they|him|her|them|his|their)\b",
        Cue.RECALLS: (
            r"\b(?:what|which|who|when|where|why|how)\b[^.!?\n]{0,80}\b(?:did|do|had|have|was|were)\b"
            r"[^.!?\n]{0,40}\b(?:we|you|i)\b[^.!?\n]{0,40}"
            r"\b(?:say|said|tell|told|decide|decided|agree|agreed|discuss|discussed|mention|mentioned"
            r"|pick|picked|choose|chose|chosen|settle|settled|call|called)\b"
            r"|\b(?:do you )?remember\b[^.!\n]{0,120}\?"
            r"|\bremind me\b"
            r"|\bwhat (?:was|were) (?:it|that|the|our|my)\b[^.!\n]{0,80}\bagain\b"
            r"|\bas (?:we|you|i) (?:said|decided|agreed|discussed|mentioned|told)\b"
            r"|\b(?:earlier|last time|previously)\b[^.!\n]{0,120}\?"
        ),
        Cue.CORRECTS: (
            r"^\W*no\b\W+(?:that|this|it|i|we|you|not|wrong|actually|the)\b"
            r"|^\W*(?:that|this|it)(?:['’]s| is| was)(?: \w+)? (?:wrong|incorrect"
            r"|not (?:right|correct|true|what (?:i|we)))\b"
            r"|^\W*(?:wrong|incorrect|not quite|nope)\b"
            r"|\byou(?:['’]re| are) (?:wrong|mistaken|misremembering|mixing)\b"
            r"|\b(?:i|we) (?:never|didn['’]t|did not) (?:say|said|decide|agree|pick|choose)\b"
            r"|^\W*(?:but )?(?:i|we) (?:said|told you)\b"
            r"|^\W*but (?:i|we) (?:decided|agreed|picked|chose)\b"
            r"|^\W*(?:i|we) (?:decided|agreed|picked|chose)\b[^.!?]*, not\b"
            r"|^\W*actually\b\W+(?:it|that|we|i)\b"
        ),
        Cue.DECISION: (
            r"\b(?:(?:we|I|they|team|he|she)(?:[’']ve| have| had| has)? (?:just |all |both "
            r"|finally )?(?:decided"
            r"|agreed|settled|chose|opted|picked|approved|rejected|concluded|committed to)|decision"
            r"|decided|agreed (?:to|on|that)|ruled out|switch(?:ed|ing)? (?:\S+ )?(?:to|from)"
            r"|migrat(?:ed?|ing) to"
            r"|(?:going|go|went) with|let[’']s (?:use|go|keep|drop|switch|stick|make)|from now on"
            r"|we(?:[’']ll| will| won[’']t| should| shouldn[’']t| must| need to"
            r"| are going to) (?:not |never )?"
            r"(?:use|keep|drop|switch|store|run|ship|deploy|move|stay|stick|make|set|write|build"
            r"|call|avoid)"
            r"|must (?:not|never|be(?!en))|no longer|instead of|rather than)\b"
        ),
        Cue.PREFERENCE: (
            r"\b(?:prefer(?:s|red|ably)?|preference|favou?rite|I(?:[’']d)? (?:really )?(?:love|like"
            r"|hate|dislike|enjoy|rather)|I (?:always|never|usually|can[’']t stand)|allergic"
            r"|please (?:always|never|use|don[’']t|keep|avoid))\b"
        ),
        Cue.FACT: (
            r"\b(?:remember that|note that|note:|FYI|deadline|due (?:on|by)"
            r"|(?:is|are|was) (?:called|named)"
            r"|(?:was|were) born|I live in|I work (?:at|for|as)|I moved (?:to|from))\b"
        ),
        Cue.STATED: (
            r"\b(?:my|our|the|its|this) [\w./-]+(?: [\w./-]+){0,3} (?:is|are|was|were|runs?"
            r"|listens?|lives?|uses?|defaults? to|has|takes?|needs?)\b"
        ),
        Cue.TURNING: (
            r"\b(?:actually|instead|correction|scratch that|chang(?:e|ed|ing) (?:my|our|his|her"
            r"|their) minds?"
            r"|second thoughts?|on reflection|revert(?:ed|ing)?|undo|undone|roll(?:ed|ing)? back"
            r"|drop(?:ped)?"
            r"|cancel(?:led|ed)?|called off|replac(?:e|ed|ing)|switch(?:ed|ing)?|abandon(?:ed)?"
            r"|superseded?|obsolete|wrong|mistake)\b"
        ),
        Cue.NEGATION: (
            r"\b(?:not|never|no(?!\.\s?\d)|nor|neither|none|nothing|nobody|nowhere|cannot|without"
            r"|instead of|rather than|except|unless|no longer)\b|\b\w+n[’'´`]t\b"
            r"|\b(?:do|does|did|ca|wo|ai|is|are|was|were|has|have|had|could|should|would|must)nt\b"
        ),
        Cue.TIME: (
            r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weekend|weeks?|months?|years?"
            r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april"
            r"|june|july|august|september|october|november|december|summer|winter|spring|autumn"
            r"|recently|since|until|first)\b"
        ),
        Cue.SPEAKER: r"\b(?:I|my|we|our|me|us|mine|My|We|Our|I['’]\w+)\b",
        Cue.ABBREVIATION: (
            r"Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|cf|No|Fig|approx|e\.g|i\.e|a\.m|p\.m|U\.S|U\.K|al"
            r"|Inc|Ltd|Co|Corp"
        ),
        Cue.DATE: (
            rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? )?{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})\b"
            rf"|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b"
        ),
        Cue.TASK_NUMBER: r"issue|ticket|task|bug|PR|pull request",
        Cue.NAME_JOINER: "of |de |van |von ",
        Cue.COURTESY: (
            rf"{_COURTESY}(?: {_COURTESY})*"
            r"(?: for (?:all )?(?:your|the) (?:help|time|advice|support|patience|answer|reply))?"
            r"(?: (?:everybody|everyone|guys))?"
        ),
        Cue.SMALL_TALK: (
            r"(?:(?:hey|hi|so|and|oh|well) )?(?:how are (?:you|things)"
            r"|how(?:'s| is) (?:it|everything|life) going"
            r"|how have you been|how about you|what about you|what's up|what's new|how you doing"
            r"|anything new)(?: doing)?(?: (?:lately|today|these days|with you))?"
        ),
    },
)
