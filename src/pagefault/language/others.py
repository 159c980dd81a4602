"""Languages of which only the stemmer and the grammatical words are known: their pages match in
other inflections, but none of their dates or cues is understood.
"""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Language, Script, words


def _known(
    code: str,
    snowball: str,
    stop_words: str,
    *,
    script: Script = Script.LATIN,
    elisions: str = "",
    opposites: str = "",
) -> Language:
    return Language(
        code=code,
        script=script,
        snowball=snowball,
        stop_words=words(stop_words),
        elisions=words(elisions),
        opposites=words(opposites),
    )


OTHERS: Final = (
    _known(
        "ca",
        "catalan",
        """
        a al als amb aquest aquesta aquests ara així com de del dels des dels doncs el ella ells els em en ens entre era eren es és està
        fins ha han hi ho i ja jo l la les li més meu meva molt ni no nosaltres nostre o on per perquè però què que qui quan quin quina
        se sense ser seu seva si són també te té tot un una uns va vam van vaig
        """,
        elisions="l d m t s n",
    ),
    _known(
        "sv",
        "swedish",
        """
        alla att av blev bli blir båda de dem den denna deras dess det detta dig din du där efter ej eller en er ett från för göra ha
        hade han hans har henne hon hur här i icke inte ja jag kan kunde man med mellan men mig min mina mitt mot mycket någon något
        några när och om oss på samma sedan sig sin ska skulle som så till under upp ut utan vad var vara varför vem vi vid vilka vilken
        vilket är än över också
        """,
        opposites="inte ingen aldrig utan",
    ),
    _known(
        "da",
        "danish",
        """
        af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine disse dog du efter eller en end er et
        for fra ham han hans har havde have hende hendes her hos hun hvad hvem hvis hvor hvornår hvorfor i ikke ind jeg jer kan kunne man
        mange med meget men mig min mine mod når ned noget nogle nu og også om op os over på selv sig sin sine skal skulle som sådan
        thi til ud under var vi vil ville vor været
        """,
        opposites="ikke ingenting ingen aldrig",
    ),
    _known(
        "no",
        "norwegian",
        """
        alle at av bare begge ble bli blir både da de deg dem den denne der deres det dette din ditt du eller en er et etter for fordi
        fra før ha hadde han hans har henne hennes her hos hun hva hvem hver hvilken hvis hvor hvordan hvorfor i ikke ingen jeg kan kom
        kunne man mange med meg meget mellom men min mitt mot mye ned noe noen nå når og også om opp oss på seg selv si sin sitt skal
        skulle slik som så til ut var vi vil ville være vært
        """,
        opposites="ikke ingenting ingen aldri",
    ),
    _known(
        "fi",
        "finnish",
        """
        ei en että eivät emme hän he heidän hänen ja jo joka jos jotka juuri kanssa koska kuin kuinka kun kuka mikä missä mitä milloin
        miksi me meidän meillä minä minun minulla mutta myös ne niin nyt nämä oli olen olemme olet olin olisi olivat olla on ole ollut
        se sen siellä siitä sitä sinä sinun tai tämä tämän te vaan vai vain vielä voi voin voit mukaan noin sekä ovat
        """,
        opposites="ei",
    ),
    _known(
        "hu",
        "hungarian",
        """
        a az abban ahol aki akik akkor alatt amely ami amikor annak arra azért azt azzal be csak de e egy egyik el ehhez én és ez ezek
        ezen ezért ezt fel fog ha hanem hogy hogyan hol igen is itt jó ki kell kellett kicsit le lehet lesz ma majd már meg mert mi
        miért mikor mint minden most nagyon ne nekem nekünk nem nincs össze pedig s saját sem semmi szerint szét ő ők őket te után van
        vagy vagyok vannak volt voltak
        """,
    ),
    _known(
        "ro",
        "romanian",
        """
        a acea aceasta această aceea acest acesta acestea acum ai aici al ale am apoi ar are aş așa au avea avem ca că când care cât
        ce cel cele cine cu cum da dacă dar de deci deja din doar după ea ei el ele era este eu fi fie fost în înainte îmi între își
        la le lor lui mai mea meu mi mult ne nici noi nostru noastră nu o pe pentru prin sa să sau se sunt său ta te toate tot tu un
        una unde unei unui va vom voi și
        """,
    ),
    _known(
        "tr",
        "turkish",
        """
        acaba ama ancak artık aslında az bana bazı belki ben benim beni bile bir biri biz bize bizim bu buna bunu bunun burada çok
        çünkü da daha de değil diye en gibi hem hep her hiç için ile ise kadar kendi ki kim kime mi mı mu mü nasıl ne neden nerede
        niye o olan olarak oldu olduğu olsa on ona onlar onu onun orada öyle sadece sanki sen senin siz sonra şey şimdi şu tüm var ve
        veya ya yani yok zaten
        """,
    ),
    _known(
        "cs",
        "czech",
        """
        aby ale ani ano asi až bez bude budou by byl byla byli bylo být co což či další do jak jako jaký je jeho její jejich jen
        ještě ji jim jsem jsi jsme jsou k kam kde kdo kdy když kolik která které který mě mezi mi mít můj může my na nad nám náš ne
        nebo není než nic o od on ona oni po pod podle pokud pro proč proto před při s se si sice svůj ta tak také takže tam tato tedy
        ten tento ti to toho tohle tom tu ty u už v vám váš ve však vy z za že
        """,
    ),
    _known(
        "pl",
        "polish",
        """
        aby ale ani aż bardzo bez bo był była było były być chce ci co coś czy dla do dlaczego gdy gdzie go i ich ile im ja jak jaki
        jako je jego jej jest jestem jeszcze jeśli już każdy kiedy kim kto która które który którzy lub ma mam mi mnie moja moje mój
        może my na nad nam nas nasz nie niej nim nic o od on ona one oni po pod pomiędzy przed przez przy się są swoje ta tak także
        tam te tego tej ten to tu tylko ty tym u w we więc wszystko z za ze że żeby
        """,
        opposites="nic nikt nigdy bez",
    ),
    _known(
        "id",
        "indonesian",
        """
        ada adalah agar aku akan anda apa apakah atau bagaimana bahwa bagi banyak belum berapa bisa bukan dalam dan dapat dari dengan di
        dia ia ini itu jadi jika juga kalau kami kamu kapan karena kita ke kepada lagi lebih mana masih mengapa mereka namun nya oleh
        pada para pernah saat saja sampai sangat saya sebagai sebuah seperti sudah supaya tapi telah tentang tetapi tidak untuk yang
        """,
    ),
    _known(
        "et",
        "estonian",
        """
        aga ei et ja ka kas kes kui kuidas kus ma me meie mida miks millal mina minu mis need nad nii ning nüüd oli olid oma on see
        selle seda siin siis sina sinu ta tema te teie välja veel või väga
        """,
    ),
    _known(
        "lt",
        "lithuanian",
        """
        apie ar arba aš bei bet bus buvo čia dabar dėl dar ir iš iki jau jei ji jie jis jo jos jų kad kai kaip kas kiek kodėl ko
        kur kuris kuri labai mano mes mums mūsų nes ne nėra nuo o per po prie su ta tai tas taip tik tu už yra
        """,
    ),
    _known(
        "ga",
        "irish",
        """
        agus an ach ag ar as atá bhí bhfuil cé cad cá conas cathain dá do don faoi go gur i is leis le mar mé mo na ní nach níl nó ó
        roimh sé sí siad sin sinn seo tá tú um
        """,
    ),
    _known(
        "eu",
        "basque",
        """
        bat baina bere baino bezala da dago dira du dugu dut edo ere eta ez ezin gara gu gure hau hori hura izan ni nire nola non nor
        noiz zein zer zergatik zuen zure zuten
        """,
    ),
    _known(
        "eo",
        "esperanto",
        """
        al ankaŭ aŭ ĉar ĉe ĉi ĉio ĉu de devas do dum el en estas estis estos ĝi ĝis ili iu ja jam je jes kaj ke kia kial kiam kie kiel
        kio kiu kun la li mi mia mian ne nenio ni nia nun ol oni per plej pli por post povas pri se sed sen si sia super ŝi tamen
        ties tio tiu tre tute vi via
        """,
    ),
    _known(
        "sr",
        "serbian",
        """
        ali ako bi bio bila bilo biti iz ili je jer jedan još kada kako kao ko koja koje koji koliko li moj moja mi na ne nego nije
        nema od on ona oni pa po sa se sam samo smo su taj te to ti u uvek će šta što gde zašto
        """,
    ),
    _known(
        "sr-cyrl",
        "serbian",
        """
        али ако би био била било бити из или је јер један још када како као ко која које који колико ли мој моја ми него није нема од
        он она они па са се сам само смо су тај те ти увек ће шта што где зашто
        """,
        script=Script.CYRILLIC,
    ),
    _known(
        "el",
        "greek",
        """
        ο η το οι τα του της των τον την και κι να θα δεν δε μη μην με σε για από στο στη στην στον στα στις στους που πως πώς πού πότε
        ποιος ποια ποιο τι γιατί είναι ήταν έχω έχει έχουν είχε μου σου μας σας τους αυτό αυτή αυτός ένα ένας μια αλλά ή αν όταν όπως
        πολύ και ως μόνο πόσο πόσα εγώ εσύ εμείς
        """,
        script=Script.GREEK,
    ),
    _known(
        "hy",
        "armenian",
        "և է են եմ ես ենք էր էին մի որ ու այս այդ այն ինչ ով երբ որտեղ ինչու որպես համար հետ մեջ նա մենք նրանք իր ոչ չի բայց թե",
        script=Script.ARMENIAN,
    ),
    _known(
        "ta",
        "tamil",
        "ஒரு என்று மற்றும் இந்த அந்த இது அது நான் நாம் நீ அவர் அவன் அவள் என்ன எங்கே எப்போது யார் ஏன் எப்படி எத்தனை உள்ளது இல்லை",
        script=Script.TAMIL,
    ),
    _known(
        "yi",
        "yiddish",
        "און איז איך דו ער זי עס מיר איר זיי דער די דאָס אַ אַן צו פֿון מיט אין אויף נישט ניט וואָס ווער ווען ווו פֿאַר וואָרום האָט האָבן זענען געווען",
        script=Script.HEBREW,
    ),
    _known(
        "fa",
        "persian",
        """
        از است این آن با به بر برای بود تا چه چرا چند خود در را شد شما که کجا کرد کرده کنم کنید کی ما من می ها های هر هم همه و هست
        یا یک نیست اما اگر او آنها
        """,
        script=Script.ARABIC,
    ),
    _known(
        "ne",
        "nepali",
        "छ छन् छु छौं थियो थिए हो हुन् र को का की लाई ले बाट मा पनि यो त्यो यी म हामी तिमी तपाईं उनी के कहाँ कहिले किन कसरी कति गरेको गर्न भयो भएको छैन तर",
        script=Script.DEVANAGARI,
    ),
    Language(
        code="ko",
        script=Script.HANGUL,
        cues={Cue.DECISION: "결정", Cue.PREFERENCE: "좋아", Cue.NEGATION: "않|없|못"},
    ),
)
