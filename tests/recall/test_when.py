"""Days as people name them, in several languages."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from pagefault.language.days import NEEDED, days_named, days_told, of_year
from pagefault.language.known import LANGUAGES
from pagefault.language.language import Language
from pagefault.recall.search import Searcher
from pagefault.recall.when import nearness
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.testing.index_contract import whole
from pagefault.testing.records import Records

TODAY = date(2026, 11, 24)  # a Tuesday

OF_ANY_YEAR = {
    "What did we do on the first weekend of October?": ("2026-10-03", "2026-10-04"),
    "Remind me what we planned for the last weekend in October.": ("2026-10-31", "2026-11-01"),
    "Who called in the second week of June?": ("2026-06-08", "2026-06-14"),
    "What broke the last week of August?": ("2026-08-25", "2026-08-31"),
    "Which bug did I fix on the first Monday of May?": ("2026-05-04", "2026-05-04"),
    "Where was Ann in early March?": ("2026-03-01", "2026-03-10"),
    "Where did we eat in mid-May?": ("2026-05-11", "2026-05-20"),
    "What was late in August the trouble?": ("2026-08-21", "2026-08-31"),
    "Where did we live at the beginning of February?": ("2026-02-01", "2026-02-10"),
    "What did I buy in Sept.?": ("2026-09-01", "2026-09-30"),
    "Did it rain on 5 Oct.?": ("2026-10-05", "2026-10-05"),
    "What did we plant in the spring?": ("2026-03-01", "2026-05-31"),
    "Was haben wir am ersten Wochenende im Oktober gemacht?": ("2026-10-03", "2026-10-04"),
    "Was war am ersten Oktoberwochenende los?": ("2026-10-03", "2026-10-04"),
    "Wen habe ich in der zweiten Woche im Juni getroffen?": ("2026-06-08", "2026-06-14"),
    "Wo waren wir Anfang März?": ("2026-03-01", "2026-03-10"),
    "Was ist Ende August kaputtgegangen?": ("2026-08-21", "2026-08-31"),
    "Was haben wir im Sept. gekauft?": ("2026-09-01", "2026-09-30"),
    "Was haben wir im Frühling gepflanzt?": ("2026-03-01", "2026-05-31"),
    "Qu'est-ce qu'on a fait le premier week-end d'octobre ?": ("2026-10-03", "2026-10-04"),
    "Où est-ce que j'étais début mars ?": ("2026-03-01", "2026-03-10"),
    "Qui est venu à la mi-mai ?": ("2026-05-11", "2026-05-20"),
    "Qu'est-ce qui est tombé en panne fin août ?": ("2026-08-21", "2026-08-31"),
    "Qu'avons-nous acheté en sept. ?": ("2026-09-01", "2026-09-30"),
    "¿Qué hicimos el primer fin de semana de octubre?": ("2026-10-03", "2026-10-04"),
    "¿Dónde estábamos a principios de marzo?": ("2026-03-01", "2026-03-10"),
    "¿Qué se rompió a finales de agosto?": ("2026-08-21", "2026-08-31"),
    "¿Qué compramos en sept.?": ("2026-09-01", "2026-09-30"),
    "¿Qué planeamos para julio?": ("2026-07-01", "2026-07-31"),
    "三月十四号我们吃了什么？": ("2026-03-14", "2026-03-14"),
    "十月三十一日我们去了哪里？": ("2026-10-31", "2026-10-31"),
    "三月十四日に何を食べましたか？": ("2026-03-14", "2026-03-14"),
    "Что мы делали в первые выходные октября?": ("2026-10-03", "2026-10-04"),
    "Что было в последнюю пятницу мая?": ("2026-05-29", "2026-05-29"),
    "Где мы были в начале марта?": ("2026-03-01", "2026-03-10"),
    "Что мы сажали весной?": ("2026-03-01", "2026-05-31"),
    "ماذا فعلنا في عطلة نهاية الأسبوع الأولى من أكتوبر؟": ("2026-10-03", "2026-10-04"),
    "ماذا قررنا في آخر جمعة من مايو؟": ("2026-05-29", "2026-05-29"),
    "أين كنا في أوائل مارس؟": ("2026-03-01", "2026-03-10"),
    "ماذا زرعنا في الربيع؟": ("2026-03-01", "2026-05-31"),
    "अक्टूबर के पहले सप्ताहांत में हमने क्या किया?": ("2026-10-03", "2026-10-04"),
    "मई के आखिरी सोमवार को क्या हुआ?": ("2026-05-25", "2026-05-25"),
    "मार्च की शुरुआत में हम कहाँ थे?": ("2026-03-01", "2026-03-10"),
    "十月的第一个周末我们做了什么？": ("2026-10-03", "2026-10-04"),
    "五月最后一个星期一发生了什么？": ("2026-05-25", "2026-05-25"),
    "6月第二周谁来了？": ("2026-06-08", "2026-06-14"),
    "八月底什么坏了？": ("2026-08-21", "2026-08-31"),
    "春天我们种了什么？": ("2026-03-01", "2026-05-31"),
    "10月の最初の週末に何をしましたか？": ("2026-10-03", "2026-10-04"),
    "5月の最後の月曜日に何があった？": ("2026-05-25", "2026-05-25"),
    "6月の第2週に誰が来た？": ("2026-06-08", "2026-06-14"),
    "8月末に何が壊れた？": ("2026-08-21", "2026-08-31"),
    "春に何を植えた？": ("2026-03-01", "2026-05-31"),
    "What did Bea announce at Easter?": ("2026-04-03", "2026-04-06"),
    "Who came the weekend before Easter?": ("2026-03-28", "2026-03-29"),
    "What was released in the week after Valentine’s Day?": ("2026-02-15", "2026-02-21"),
    "Who cooked at Thanksgiving?": ("2026-11-26", "2026-11-29"),
    "What did we return the day after Christmas?": ("2026-12-25", "2026-12-27"),
    "Was haben wir am Tag vor Ostern gekauft?": ("2026-04-02", "2026-04-05"),
    "Who phoned at New Year?": ("2026-01-01", "2026-01-01"),
    "Who called two days after New Year?": ("2026-01-03", "2026-01-03"),
    "Was war zwei Tage nach Ostermontag los?": ("2026-04-08", "2026-04-08"),
    "Wo waren wir am Wochenende vor Weihnachten?": ("2026-12-19", "2026-12-20"),
    "Qu'est-ce qu'on a fait à la Pentecôte ?": ("2026-05-24", "2026-05-25"),
    "Où étions-nous la semaine avant Noël ?": ("2026-12-17", "2026-12-23"),
    "¿Qué pasó el finde antes de Semana Santa?": ("2026-03-28", "2026-03-29"),
    "¿Qué decidimos dos días después de Reyes?": ("2026-01-08", "2026-01-08"),
    "Cosa abbiamo fatto il primo fine settimana di ottobre?": ("2026-10-03", "2026-10-04"),
    "Chi è venuto nella seconda settimana di giugno?": ("2026-06-08", "2026-06-14"),
    "Cosa si è rotto a fine agosto?": ("2026-08-21", "2026-08-31"),
    "Dov'eravamo ai primi di marzo?": ("2026-03-01", "2026-03-10"),
    "Cosa abbiamo piantato in primavera?": ("2026-03-01", "2026-05-31"),
    "Cosa abbiamo mangiato il quattordici marzo?": ("2026-03-14", "2026-03-14"),
    "Che cosa è successo nel mese di maggio?": ("2026-05-01", "2026-05-31"),
    "Dove eravamo il fine settimana prima di Pasqua?": ("2026-03-28", "2026-03-29"),
    "O que fizemos no primeiro fim de semana de outubro?": ("2026-10-03", "2026-10-04"),
    "Quem veio na segunda semana de junho?": ("2026-06-08", "2026-06-14"),
    "O que avariou no fim de agosto?": ("2026-08-21", "2026-08-31"),
    "Onde estávamos em meados de maio?": ("2026-05-11", "2026-05-20"),
    "O que plantamos na primavera?": ("2026-03-01", "2026-05-31"),
    "O que comemos a vinte e um de março?": ("2026-03-21", "2026-03-21"),
    "O que decidimos dois dias depois do Natal?": ("2026-12-26", "2026-12-28"),
    "Wat hebben we in het eerste weekend van oktober gedaan?": ("2026-10-03", "2026-10-04"),
    "Wie kwam er in de tweede week van juni?": ("2026-06-08", "2026-06-14"),
    "Wat is er eind augustus kapotgegaan?": ("2026-08-21", "2026-08-31"),
    "Waar waren we half mei?": ("2026-05-11", "2026-05-20"),
    "Wat hebben we in de lente geplant?": ("2026-03-01", "2026-05-31"),
    "Wat aten we op de veertiende maart?": ("2026-03-14", "2026-03-14"),
    "Waar waren we het weekend voor kerst?": ("2026-12-19", "2026-12-20"),
    "Что мы делали на новый год?": ("2026-01-01", "2026-01-01"),
    "Кто звонил за два дня до рождества?": ("2026-01-05", "2026-01-05"),
    "ماذا أكلنا في عيد الحب؟": ("2026-02-14", "2026-02-14"),
    "من زارنا قبل ثلاثة أيام من رأس السنة؟": ("2025-12-29", "2025-12-29"),
    "स्वतंत्रता दिवस पर हम कहाँ थे?": ("2026-08-15", "2026-08-15"),
    "国庆节我们去了哪里？": ("2026-10-01", "2026-10-07"),
    "元旦前一天谁来了？": ("2025-12-31", "2025-12-31"),
    "大晦日に何を食べましたか？": ("2026-12-31", "2026-12-31"),
    "お盆の前の週に誰が来た？": ("2026-08-06", "2026-08-12"),
    # Days in words, several days, and a day in short.
    "What did we eat on the twenty-first of March?": ("2026-03-21", "2026-03-21"),
    "Who called on March the fourteenth?": ("2026-03-14", "2026-03-14"),
    "What broke on the last day of May?": ("2026-05-31", "2026-05-31"),
    "Where were we between 3 and 5 July?": ("2026-07-03", "2026-07-05"),
    "Where were we from the 3rd to the 5th of July?": ("2026-07-03", "2026-07-05"),
    "Where did we stay July 3-5?": ("2026-07-03", "2026-07-05"),
    "Where did we stay from July 3 to July 5?": ("2026-07-03", "2026-07-05"),
    "Wo waren wir vom 3. bis 5. Juli?": ("2026-07-03", "2026-07-05"),
    "Wo waren wir zwischen dem 3. und dem 5. Juli?": ("2026-07-03", "2026-07-05"),
    "Où étions-nous du 3 au 5 juillet ?": ("2026-07-03", "2026-07-05"),
    "¿Dónde estuvimos entre el 3 y el 5 de julio?": ("2026-07-03", "2026-07-05"),
    "Dove siamo stati dal 3 al 5 luglio?": ("2026-07-03", "2026-07-05"),
    "Onde estivemos de 3 a 5 de julho?": ("2026-07-03", "2026-07-05"),
    "Waar waren we van 3 tot en met 5 juli?": ("2026-07-03", "2026-07-05"),
    "Was haben wir am 14.3. gegessen?": ("2026-03-14", "2026-03-14"),
    "Was war am 14.3.?": ("2026-03-14", "2026-03-14"),
    "Was habe ich am Samstag, 14.3., gemacht?": ("2026-03-14", "2026-03-14"),
    "Was habe ich am Samstag, dem 14. März, gemacht?": ("2026-03-14", "2026-03-14"),
    "Cosa abbiamo mangiato il 14/3?": ("2026-03-14", "2026-03-14"),
    # A month, and a person of its name.
    "What happened in April?": ("2026-04-01", "2026-04-30"),
    "Did it snow in June?": ("2026-06-01", "2026-06-30"),
    "When is it in July. The second time?": ("2026-07-01", "2026-07-31"),
    "Does April 5 suit everybody?": ("2026-04-05", "2026-04-05"),
    "What did April bring us in June?": ("2026-06-01", "2026-06-30"),
}

OF_A_YEAR = {
    "Wat deed ik op 14-03-2025?": ("2025-03-14", "2025-03-14"),
    "Cosa ho fatto il 14-03-2025?": ("2025-03-14", "2025-03-14"),
    "What did we do on the first weekend of October 2023?": ("2023-10-07", "2023-10-08"),
    "What did I do last summer?": ("2026-06-01", "2026-08-31"),
    "How cold was it last winter?": ("2025-12-01", "2026-02-28"),
    "What did Bea announce at Easter 2024?": ("2024-03-29", "2024-04-01"),
    "Wo waren wir an Silvester 2024?": ("2024-12-31", "2024-12-31"),
    "Where did we go in the fall of 2023?": ("2023-09-01", "2023-11-30"),
    "What was on Sept. 5, 2025?": ("2025-09-05", "2025-09-05"),
    "Was haben wir letzten Sommer gemacht?": ("2026-06-01", "2026-08-31"),
    "Wo waren wir im Herbst 2023?": ("2023-09-01", "2023-11-30"),
    "Was haben wir am 5. Okt. 2025 beschlossen?": ("2025-10-05", "2025-10-05"),
    "Où sommes-nous allés l'été dernier ?": ("2026-06-01", "2026-08-31"),
    "Où étions-nous à l'automne 2023 ?": ("2023-09-01", "2023-11-30"),
    "Qu'est-ce qu'on a décidé le 5 oct. 2025 ?": ("2025-10-05", "2025-10-05"),
    "¿Qué hicimos el verano pasado?": ("2026-06-01", "2026-08-31"),
    "¿Dónde estuvimos en otoño de 2023?": ("2023-09-01", "2023-11-30"),
    "¿Qué decidimos el 5 de oct. de 2025?": ("2025-10-05", "2025-10-05"),
    "Куда мы ездили прошлым летом?": ("2026-06-01", "2026-08-31"),
    "Что было осенью 2023 года?": ("2023-09-01", "2023-11-30"),
    "Что случилось на второй неделе июня 2025?": ("2025-06-08", "2025-06-14"),
    "ماذا حدث في الصيف الماضي؟": ("2026-06-01", "2026-08-31"),
    "أين ذهبنا في خريف 2023؟": ("2023-09-01", "2023-11-30"),
    "अगस्त 2024 के अंत में क्या टूटा?": ("2024-08-21", "2024-08-31"),
    "2023年秋天我们去了哪里？": ("2023-09-01", "2023-11-30"),
    "2023年の秋にどこへ行った？": ("2023-09-01", "2023-11-30"),
    "Dove siamo andati l'estate scorsa?": ("2026-06-01", "2026-08-31"),
    "Cosa abbiamo deciso il 5 ott. 2025?": ("2025-10-05", "2025-10-05"),
    "Aonde fomos no verão passado?": ("2026-06-01", "2026-08-31"),
    "O que decidimos em 5 de out. de 2025?": ("2025-10-05", "2025-10-05"),
    "Waar zijn we vorige zomer geweest?": ("2026-06-01", "2026-08-31"),
    "Wat besloten we op 5 okt. 2025?": ("2025-10-05", "2025-10-05"),
    "Where were we from 3 to 5 July 2025?": ("2025-07-03", "2025-07-05"),
    # A year beside days of any year.
    "Cosa è successo in ottobre l'anno scorso?": ("2025-10-01", "2025-10-31"),
    "O que aconteceu em outubro do ano passado?": ("2025-10-01", "2025-10-31"),
    "Wat gebeurde er vorig jaar in oktober?": ("2025-10-01", "2025-10-31"),
    "What did we do in October last year?": ("2025-10-01", "2025-10-31"),
    "Was haben wir letztes Jahr an Ostern gemacht?": ("2025-04-18", "2025-04-21"),
    "In 2024, what did we do on the first weekend of May?": ("2024-05-04", "2024-05-05"),
    "В прошлом году в октябре что было?": ("2025-10-01", "2025-10-31"),
    "去年夏天我们做了什么？": ("2025-06-01", "2025-08-31"),
    "去年の夏は何をした？": ("2025-06-01", "2025-08-31"),
    # The last such month, and this year's.
    "What did we do last October?": ("2026-10-01", "2026-10-31"),
    "What did we do last December?": ("2025-12-01", "2025-12-31"),
    "What did we plan this May?": ("2026-05-01", "2026-05-31"),
    "Was haben wir letzten Oktober gemacht?": ("2026-10-01", "2026-10-31"),
    "Qu'est-ce qu'on a fait en octobre dernier ?": ("2026-10-01", "2026-10-31"),
    "¿Qué hicimos en diciembre pasado?": ("2025-12-01", "2025-12-31"),
    "Что было в прошлом октябре?": ("2026-10-01", "2026-10-31"),
    "ماذا حدث في سبتمبر الماضي؟": ("2026-09-01", "2026-09-30"),
    "पिछले सितंबर में क्या हुआ?": ("2026-09-01", "2026-09-30"),
    "Cosa è successo lo scorso ottobre?": ("2026-10-01", "2026-10-31"),
    "Wat gebeurde er afgelopen oktober?": ("2026-10-01", "2026-10-31"),
    # Parts of this month and the last one.
    "Cosa si è rotto alla fine del mese scorso?": ("2026-10-21", "2026-10-31"),
    "O que aconteceu no início deste mês?": ("2026-11-01", "2026-11-10"),
    "Wat gebeurde er eind vorige maand?": ("2026-10-21", "2026-10-31"),
    "What did we decide in the third week of this month?": ("2026-11-15", "2026-11-21"),
    "What broke at the end of last month?": ("2026-10-21", "2026-10-31"),
    "Was war in der zweiten Woche dieses Monats?": ("2026-11-08", "2026-11-14"),
    "Qu'avons-nous décidé le premier lundi du mois dernier ?": ("2026-10-05", "2026-10-05"),
    "¿Qué pasó a finales del mes pasado?": ("2026-10-21", "2026-10-31"),
    "Что было в конце прошлого месяца?": ("2026-10-21", "2026-10-31"),
    "ماذا حدث في الأسبوع الثالث من هذا الشهر؟": ("2026-11-15", "2026-11-21"),
    "पिछले महीने के अंत में क्या हुआ?": ("2026-10-21", "2026-10-31"),
    "上个月底发生了什么？": ("2026-10-21", "2026-10-31"),
    "今月の第三週に何がありましたか？": ("2026-11-15", "2026-11-21"),
    # The unit before the last.
    "What did we do the weekend before last?": ("2026-11-14", "2026-11-15"),
    "Was war vorletzte Woche?": ("2026-11-09", "2026-11-15"),
    "Qu'est-ce qu'on a fait l'avant-dernier week-end ?": ("2026-11-14", "2026-11-15"),
    "¿Qué hicimos el penúltimo fin de semana?": ("2026-11-14", "2026-11-15"),
    "Что было на позапрошлой неделе?": ("2026-11-09", "2026-11-15"),
    "ماذا فعلنا الأسبوع قبل الماضي؟": ("2026-11-09", "2026-11-15"),
    "पिछले से पिछले हफ़्ते क्या हुआ?": ("2026-11-09", "2026-11-15"),
    "上上个月发生了什么？": ("2026-09-01", "2026-09-30"),
    "先々週は何を話した？": ("2026-11-09", "2026-11-15"),
    "一昨年は何があった？": ("2024-01-01", "2024-12-31"),
    "Cosa abbiamo fatto il penultimo fine settimana?": ("2026-11-14", "2026-11-15"),
    "O que fizemos na semana retrasada?": ("2026-11-09", "2026-11-15"),
    "Wat deden we het voorlaatste weekend?": ("2026-11-14", "2026-11-15"),
    # Weekdays.
    "Cosa abbiamo detto lunedì?": ("2026-11-23", "2026-11-23"),
    "Cosa abbiamo detto lunedì della settimana scorsa?": ("2026-11-16", "2026-11-16"),
    "O que combinamos na sexta-feira?": ("2026-11-20", "2026-11-20"),
    "O que aconteceu na quinta?": ("2026-11-19", "2026-11-19"),
    "Wat spraken we op maandag af?": ("2026-11-23", "2026-11-23"),
    "Wie belde er vorige week maandag?": ("2026-11-16", "2026-11-16"),
    "What did we sign on Monday, March 3, 2025?": ("2025-03-03", "2025-03-03"),
    # The last such day of a month.
    "What did we do on the 9th?": ("2026-11-09", "2026-11-09"),
    "Who called on the 24th, and why?": ("2026-10-24", "2026-10-24"),
    "What did we decide on the 31st?": ("2026-10-31", "2026-10-31"),
    "Was haben wir am 9. gegessen?": ("2026-11-09", "2026-11-09"),
    "Qu'est-ce qu'on a fait le 9 ?": ("2026-11-09", "2026-11-09"),
    "¿Qué hicimos el día 9?": ("2026-11-09", "2026-11-09"),
    "Cosa abbiamo fatto il 9?": ("2026-11-09", "2026-11-09"),
    "O que fizemos no dia 9?": ("2026-11-09", "2026-11-09"),
    "Wat deden we op de 9e?": ("2026-11-09", "2026-11-09"),
    # Days of this year's numbers.
    "Cosa abbiamo fatto l'altro ieri?": ("2026-11-22", "2026-11-22"),
    "Chi ha chiamato dieci giorni fa?": ("2026-11-14", "2026-11-14"),
    "O que aconteceu há oito dias?": ("2026-11-16", "2026-11-16"),
    "O que fizemos anteontem?": ("2026-11-22", "2026-11-22"),
    "Wat gebeurde er negen dagen geleden?": ("2026-11-15", "2026-11-15"),
    "Wat deden we eergisteren?": ("2026-11-22", "2026-11-22"),
    "What did we cook the day before yesterday?": ("2026-11-22", "2026-11-22"),
    "Who called ten days ago?": ("2026-11-14", "2026-11-14"),
    "Who came to the party ten days ago and to the city?": ("2026-11-14", "2026-11-14"),
    "Это место два дня назад кто нашёл?": ("2026-11-22", "2026-11-22"),
    "Was war vor acht Tagen?": ("2026-11-16", "2026-11-16"),
    "Qu'avons-nous fait il y a neuf jours ?": ("2026-11-15", "2026-11-15"),
    "¿Qué pasó hace ocho días?": ("2026-11-16", "2026-11-16"),
    "Что было десять дней назад?": ("2026-11-14", "2026-11-14"),
    "ماذا حدث قبل سبعة أيام؟": ("2026-11-17", "2026-11-17"),
    "दस दिन पहले क्या हुआ?": ("2026-11-14", "2026-11-14"),
    "十六天前发生了什么？": ("2026-11-08", "2026-11-08"),
    "十日前に何がありましたか？": ("2026-11-14", "2026-11-14"),
    # Digits of other scripts.
    "ماذا أكلنا يوم ١٤ مارس ٢٠٢٣؟": ("2023-03-14", "2023-03-14"),
    "१४ मार्च २०२३ को क्या खाया था?": ("2023-03-14", "2023-03-14"),
    "２０２３年３月１４日に何がありましたか？": ("2023-03-14", "2023-03-14"),
}


def told(query: str) -> list[tuple[str, str]]:
    spans = [
        of_year(one, TODAY.year) if one.of_any_year else (one.first, one.last)
        for one in days_named(query, today=TODAY)
    ]
    return [(first.isoformat(), last.isoformat()) for first, last in spans]


@pytest.mark.parametrize(("query", "days"), OF_ANY_YEAR.items(), ids=str)
def test_parts_of_a_month_are_its_days_of_each_year(query: str, days: tuple[str, str]) -> None:
    assert told(query) == [days]
    assert all(one.of_any_year for one in days_named(query, today=TODAY))


@pytest.mark.parametrize(("query", "days"), OF_A_YEAR.items(), ids=str)
def test_days_of_a_year_are_those_alone(query: str, days: tuple[str, str]) -> None:
    assert told(query) == [days]
    assert not any(one.of_any_year for one in days_named(query, today=TODAY))


@pytest.mark.parametrize(
    ("page", "days"),
    [
        (
            "Im Oktober letzten Jahres kam das Boot, im Mai war die Taufe.",
            ("2025-10-01", "2025-10-31"),
        ),
        ("我们去年5月见过", ("2025-05-01", "2025-05-31")),
        ("We bought the house from 1958, and move in in the summer.", ("2026-06-01", "2026-08-31")),
    ],
)
def test_a_year_holds_for_the_days_in_its_clause(page: str, days: tuple[str, str]) -> None:
    first, last = days_told(page, TODAY) or (TODAY, TODAY)
    assert (first.isoformat(), last.isoformat()) == days


@pytest.mark.parametrize(
    "query",
    [
        "Jan told me about the march, and you may fall.",
        "Does the sea, el mar, spring a leak?",
        "Where does it end, and what was the first?",
        "¿A qué distancia está el mar de la casa?",
        "Qu'a été la fin du projet ?",
        "Das Ende vom Lied?",
        "¿Qué dijo Reyes de los reyes?",
        "Is it a new year plan?",
        "Who called twenty-six days ago?",
        "Who called thirty two weeks ago?",
        "Who called a hundred and six days ago?",
        "Что было двадцать шесть дней назад?",
        "三十六天前谁来过？",
        "Сколько лет кошке?",
        "هل قال أحد شيئا؟",
        "春节的红包是谁给的？",
        "中秋节的月饼是谁送的？",
        "旧正月はどこにいた？",
        "С новым годом! Как дела?",
        "秋田さんは何と言った？",
        "上一次去北京是跟谁去的？",
        "What did April eat, and has August called?",
        "Will June come, or does May?",
        "Anna is 12. April is 10.",
        "You may first want to march second.",
        "Who said that items 3 to 5 may be late, and that 7 may fail?",
        "Does late may not work, or the end may come?",
        "What did I tell April? How old is June?",
        "Who wrote it in 2000 words?",
        "I am 5.9 miles away.",
        "Quanto è il 2,5 per cento?",
        "¿Cuánto es el 2,5 por ciento?",
        "C'est quoi, le 2,5 pour cent ?",
        "Quem tem mais de 2000 livros?",
        "Wer steht am Freitag, 31.13., an?",
        "Who lives on the 9th floor?",
        "Was war am 3. Tag?",
        "Ist das Version 14.3. oder schon 15?",
        "Quem falou na segunda vez?",
        "O que disse o Jan sobre o mar?",
        "Wat zei Jan van de tweede keer?",
        "Quanto dista il mare, e chi è nato per primo?",
        "Che cosa chiudono il lunedì?",
    ],
)
def test_other_words_are_no_days(query: str) -> None:
    assert told(query) == []


@pytest.mark.parametrize(
    ("today", "day"), [((2026, 7, 31), (2026, 5, 31)), ((2026, 3, 30), (2026, 1, 31))]
)
def test_a_day_without_a_month_is_the_last_one_before_today(
    today: tuple[int, int, int], day: tuple[int, int, int]
) -> None:
    [found] = days_named("What did we do on the 31st?", today=date(*today))
    assert (found.first, found.last) == (date(*day), date(*day))
    assert days_named("What did we do on the 45th?", today=date(*today)) == ()


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.code)
def test_whatever_names_days_has_one_of_the_names_that_a_text_is_first_looked_at_for(
    language: Language,
) -> None:
    told = asdict(language.dates) if language.dates else {}
    places = re.compile(rf"\{{(?:{'|'.join((*NEEDED, 'y'))})\d?\}}")
    templates = {
        name: one
        for name, one in told.items()
        if isinstance(one, str) and name not in ("before_a_month", "short")
    }

    for name, template in templates.items():
        outside = re.sub(r"\[(?:[^\]\\]|\\.)*\]", "", template)
        # Without groups, which may be optional, or have branches of their own.
        while (inner := re.sub(r"\((?:[^()\\]|\\.)*\)", "", outside)) != outside:
            outside = inner
        # A text without a month's name, or else a name of the first kind, is not matched at all.
        kinds = [one[1] for one in re.finditer(r"\{([a-z]+)\d?\}", template) if one[1] in NEEDED]
        needed = "{month" if "month" in kinds else f"{{{kinds[0]}" if kinds else ""
        for branch in filter(None, outside.split("|")):
            assert places.search(branch), (name, branch)
            assert needed in branch, (name, branch)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("from 3 to 5 July", 1),
        ("last Christmas", 1),
        ("last weekend", 1),
        ("{day}: 17.5", 45_000),
        ("it may be 17.5", 0),
        ("{day:%B} was warm", 10),
        ("1月", 1),
    ],
)
def test_a_table_of_days_takes_no_more_than_its_length_in_time(line: str, named: int) -> None:
    """What compares each with each would take minutes and run into the suite's time limit."""
    days = [date(1901, 1, 1) + timedelta(number) for number in range(45_000)]
    lines = ["These are the values that you asked for.", *(line.format(day=day) for day in days)]
    assert len(days_named("\n".join(lines), today=date(2026, 5, 5))) == named
    days_told("\n".join(lines), date(2026, 5, 5))


def test_blanks_after_a_weekday_take_no_more_than_their_number_in_time() -> None:
    assert len(days_named(f"Wat deden we op maandag{' ' * 300_000}?", today=TODAY)) == 1


def test_a_first_weekend_falls_on_other_days_each_year() -> None:
    [weekend] = days_named("the first weekend of October")
    for first in ("2023-10-07", "2024-10-05", "2026-10-03"):
        at = date.fromisoformat(first).toordinal()
        near = nearness([weekend], np.array([at - 1, at, at + 1, at + 2]))
        assert near[1] == near[2] == 1 > max(near[0], near[3])


def test_days_before_a_holiday_may_be_in_the_year_before() -> None:
    [weekend] = days_named("Who came the weekend before New Year's Day?")
    days = [date(2025, 12, 20).toordinal(), date(2025, 12, 27).toordinal()]
    assert nearness([weekend], np.array(days))[1] == 1
    assert of_year(weekend, 1)[0] == date.min


def test_a_winter_goes_on_into_the_next_year() -> None:
    [winter] = days_named("What did we burn in winter?")
    days = ["2025-12-05", "2026-01-20", "2026-02-28", "2026-03-20", "2026-10-01"]
    near = nearness([winter], np.array([date.fromisoformat(one).toordinal() for one in days]))
    assert near.tolist()[:3] == [1, 1, 1]
    assert max(near[3:]) < 0.2


def a_year() -> MemoryIndex:
    """A line in English each day, none of which tells when it was said."""
    records, index = Records(), MemoryIndex()
    records.open("diary")
    for day in range(360):
        at = datetime(2025, 12, 1, 9, tzinfo=UTC) + timedelta(days=day)
        where = "abcdefghij"[day % 10]
        records.say(1, f"Walked round lake {where}, it rained.", occurred_at=at.isoformat())
    index.apply(records.events)
    return index


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What happened on the first weekend of October?", "2026-10-03", "2026-10-04"),
        ("Was ist am ersten Wochenende im Oktober passiert?", "2026-10-03", "2026-10-04"),
        ("What happened the weekend before Easter?", "2026-03-28", "2026-03-29"),
        ("Qu'est-ce qui s'est passé le premier week-end d'octobre ?", "2026-10-03", "2026-10-04"),
        ("¿Qué pasó el primer fin de semana de octubre?", "2026-10-03", "2026-10-04"),
        ("Cosa è successo il primo fine settimana di ottobre?", "2026-10-03", "2026-10-04"),
        ("O que aconteceu no primeiro fim de semana de outubro?", "2026-10-03", "2026-10-04"),
        ("Wat gebeurde er in het eerste weekend van oktober?", "2026-10-03", "2026-10-04"),
        ("What happened from 3 to 4 October?", "2026-10-03", "2026-10-04"),
        ("Что было в первые выходные октября?", "2026-10-03", "2026-10-04"),
        ("ماذا حدث في عطلة نهاية الأسبوع الأولى من أكتوبر؟", "2026-10-03", "2026-10-04"),
        ("अक्टूबर के पहले सप्ताहांत में क्या हुआ?", "2026-10-03", "2026-10-04"),
        ("十月的第一个周末发生了什么？", "2026-10-03", "2026-10-04"),
        ("10月の最初の週末に何がありましたか？", "2026-10-03", "2026-10-04"),
        ("What happened the weekend before last?", "2026-11-14", "2026-11-15"),
        ("What did we talk about in early March?", "2026-03-01", "2026-03-10"),
        ("Was haben wir Anfang März besprochen?", "2026-03-01", "2026-03-10"),
        ("De quoi avons-nous parlé début mars ?", "2026-03-01", "2026-03-10"),
        ("¿De qué hablamos a principios de marzo?", "2026-03-01", "2026-03-10"),
        ("What happened last summer?", "2026-06-01", "2026-08-31"),
        ("Was ist letzten Sommer passiert?", "2026-06-01", "2026-08-31"),
        ("What happened in Sept.?", "2026-09-01", "2026-09-30"),
    ],
)
def test_pages_of_such_days_are_found_in_whatever_language_is_asked(
    query: str, first: str, last: str
) -> None:
    hits = Searcher(a_year()).search(whole(1), query, limit=2, today=TODAY).hits
    days = [
        datetime.fromtimestamp((hit.page.said_ms) / 1000, UTC).date().isoformat() for hit in hits
    ]
    assert len(days) == 2
    assert all(first <= day <= last for day in days)


TOLD_LATER = {
    "The tent leaked all night last weekend.": "What happened on the first weekend of October?",
    "Letztes Wochenende war das Zelt undicht.": "Was ist am ersten Wochenende im Oktober passiert?",
    "La tente fuyait le week-end dernier, et nous étions dedans.": (
        "Qu'est-ce qui s'est passé le premier week-end d'octobre ?"
    ),
    "La tienda se mojó el fin de semana pasado.": "¿Qué pasó el primer fin de semana de octubre?",
    "В прошлые выходные палатка протекла.": "Что было в первые выходные октября?",
    "تسرب الماء إلى الخيمة في عطلة نهاية الأسبوع الماضي.": (
        "ماذا حدث في عطلة نهاية الأسبوع الأولى من أكتوبر؟"
    ),
    "पिछले सप्ताहांत तंबू में पानी भर गया।": "अक्टूबर के पहले सप्ताहांत में क्या हुआ?",
    "上周末帐篷漏水了。": "十月的第一个周末发生了什么？",
    "先週末、テントが雨漏りした。": "10月の最初の週末に何がありましたか？",
    "We had a leak in the tent on Oct. 3, of all days.": "¿Qué pasó el 3 de octubre de 2026?",
    "La tenda perdeva lo scorso fine settimana.": "Cosa è successo il 3 ottobre 2026?",
    "A tenda deixou entrar água no fim de semana passado.": "O que houve em 3 de outubro de 2026?",
    "De tent lekte afgelopen weekend de hele nacht.": "Wat gebeurde er op 3 oktober 2026?",
}


def told_on(day: str, text: str) -> Searcher:
    """A session in which other things are told on other days."""
    records, index = Records(), MemoryIndex()
    records.open("diary")
    for back in range(1, 60):
        at = datetime(2026, 9, 20, 9, tzinfo=UTC) - timedelta(days=back)
        records.say(1, f"Walked round lake {back}.", occurred_at=at.isoformat())
    records.say(1, text, occurred_at=f"{day}T09:00:00+00:00")
    index.apply(records.events)
    return Searcher(index)


@pytest.mark.parametrize(("text", "query"), TOLD_LATER.items(), ids=str)
@pytest.mark.parametrize("asked", ["its own language", "another"])
def test_what_is_told_later_is_found_by_the_days_when_it_happened(
    text: str, query: str, asked: str
) -> None:
    if asked == "another":
        query = "What happened on the first weekend of October?"
    hits = told_on("2026-10-06", text).search(whole(1), query, limit=3, today=TODAY).hits
    assert [hit.page.order for hit in hits[:1]] == [59]


@pytest.mark.parametrize(("text", "is_found"), [(" last weekend", True), ("", False)])
def test_control_what_tells_of_no_other_day_is_found_by_its_own_alone(
    text: str, is_found: bool
) -> None:
    telling = told_on("2026-10-01", f"The tent leaked all night{text}.")
    asked = ("What happened on the last weekend of September?", "What happened on 1 October?")
    then, own = (telling.search(whole(1), one, limit=9, today=TODAY).hits for one in asked)
    assert (59 in [hit.page.order for hit in then]) == is_found
    assert own[0].page.order == 59


def test_of_two_pages_with_the_words_that_comes_first_that_tells_of_the_days() -> None:
    records, index = Records(), MemoryIndex()
    records.open("diary")
    for text, day in (
        ("The boiler broke two weeks ago.", "2026-03-20"),
        ("The boiler broke again just now.", "2026-03-22"),
        ("The boiler broke last Monday.", "2026-06-20"),
    ):
        records.say(1, text, occurred_at=f"{day}T09:00:00+00:00")
    index.apply(records.events)
    query = "When did the boiler break in early March?"
    hits = Searcher(index).search(whole(1), query, limit=3, today=TODAY).hits
    assert hits[0].page.order == 0
