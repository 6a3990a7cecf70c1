"""
What short lines on every website say, in the languages of our sites: kinds of furniture by their words.

A phrase is a run of words; a word that ends in `*` stands for all that begin so.
"""

from __future__ import annotations

import re

_KINDS: dict[str, str] = {
    "consent": "cookie*, gdpr, consent, privacy policy, privacy notice, privacy settings, terms of, terms and, accept all,"
    "персональн* данн*, политик* конфиденциальн*, пользовательск* соглашен*, куки, құпиялылық, datenschutz*, impressum,"
    "mentions légales, política de privacidad",
    "rights": "copyright, ©, rights reserved, powered by, все права, авторск* прав*, права защищены, барлық құқық*,"
    "alle rechte, tous droits, todos los derechos",
    "subscribe": "subscrib*, newsletter*, sign up for, get updates, your email, your inbox, enter your, email address,"
    "mailing list, подпис*, подпиш*, рассылк*, жазыл*, abonnieren, abonnez, suscríb*",
    "account": "log in, login, sign in, sign up, signin, signup, log out, logout, sign out, register, create account,"
    "create an account, my account, forgot, password, войти, вход, выйти, регистрац*, зарегистр*, личный кабинет,"
    "парол*, кіру, тіркелу, anmelden, connexion, iniciar",
    "shop": "add to cart, add to bag, add to basket, add to wish*, buy now, shop now, checkout, your cart, your bag,"
    "your basket, cart, wishlist, in stock, out of stock, quantity, qty, в корзин*, корзин*, купить, в избранн*,"
    "сравнить, оформить заказ, в наличии, нет в наличии, себет*, warenkorb, panier, carrito",
    "share": "share, shares, tweet, facebook, twitter, linkedin, pinterest, whatsapp, telegram, instagram, youtube,"
    "tiktok, reddit, follow us, follow, copy link, email this, print, поделит*, поделис*, вконтакте, одноклассник*,"
    "бөлісу, teilen, partager, compartir",
    "related": "related, you may like, you may also, you might, recommended, recommend*, more from, more in, more on,"
    "more like, more stories, more articles, more news, popular, trending, latest, recent, recently, most read,"
    "most viewed, most popular, up next, read next, read also, see also, similar, also viewed, also bought, also like, also enjoy, who viewed, who bought, bought together, people also, customers also,"
    "compare with, shop the look, complete the look, goes well with, pairs well, you viewed, for you, inspired by,"
    "more to explore, keep reading, don't miss, in case you missed, other products, other items, discover,"
    "похож*, рекоменд*, читайте также, смотрите также, по теме, последние, популярн*, вам может, с этим товаром,"
    "недавно, ұқсас, басқа, ähnliche, weitere, à lire",
    "comments": "comment*, reply, replies, leave a, respond, discussion, комментари*, ответить, отзыв*, пікір*, kommentar*,"
    "comentarios",
    "more": "read more, learn more, see more, see all, view more, view all, view details, show more, show all, load more,"
    "find out more, discover more, continue reading, click here, explore, подробнее, читать далее, читать дальше,"
    "читать полностью, показать ещё, показать еще, показать все, все новости, узнать больше, толығырақ, mehr,"
    "en savoir plus, ver más",
    "paging": "next, prev, previous, older, newer, page, вперёд, вперед, назад, далее, следующ*, предыдущ*, страница,"
    "наверх, back to top, back to, келесі, алдыңғы, weiter, zurück, suivant, précédent",
    "search": "search, skip to, menu, toggle, close, navigation, home, поиск, меню, закрыть, главная, перейти к, іздеу,"
    "мәзір, suche, recherche, buscar",
    "filter": "filter*, sort, sorted, refine, results, clear all, showing, per page, фильтр*, сортиров*, найдено, показано,"
    "сбросить, сұрыптау, sortieren, trier",
    "byline": "by, min read, minute read, minutes read, posted on, posted by, posted, published, updated, written by,"
    "author, last modified, last edited, ago, опубликован*, автор, обновлен*, мин чтения, назад, жарияланған, von, par,"
    "jan, feb, mar, apr, jun, jul, aug, sep, sept, oct, nov, dec, january, february, march, april, june, july, august,"
    "september, october, november, december, января, февраля, марта, апреля, мая, июня, июля, августа, сентября,"
    "октября, ноября, декабря, қаңтар, ақпан, наурыз, сәуір, мамыр, маусым, шілде, тамыз, қыркүйек, қазан, қараша,"
    "желтоқсан",
    "advert": "advertis*, sponsor*, promoted, affiliate*, commission, ad, ads, реклам*, партнёрск*, партнерск*, жарнама,"
    "anzeige, publicité, publicidad",
    "contact": "contact, contact us, call us, call now, get in touch, free quote, free consultation, free estimate, book now,"
    "book a, schedule, request a, request an, get started, get a, свяжитесь, связаться, позвоните, заказать, заявк*,"
    "записаться, контакты, байланыс*, kontakt, contactez",
    "toc": "table of contents, on this page, in this article, in this section, contents, jump to, содержание, оглавление,"
    "на этой странице, мазмұны, inhalt, sommaire",
    "legal": "disclaimer, terms, conditions, policy, license, shipping, returns, return, warranty, refund*, услови*,"
    "доставк*, возврат*, гаранти*, оферт*, лицензи*, versand, livraison",
    "rating": "out of, stars, star, review, reviews, customer reviews, write a review, testimonials, rating, ratings, rated, helpful, verified, звезд*, звёзд*, рейтинг*,"
    "оценк*, бағалау, bewertung*, avis",
    "votes": "like, likes, views, view, votes, vote, points, answers, posts, post, topics, topic, members, member, followers,"
    "badges, просмотр*, нравится, ответов, сообщени*, ответ",
    "learn": "frequently asked, faq, faqs, how to, what is, questions, часто задаваемые, вопрос*, сұрақ*",
}  # fmt: skip
NAMES = tuple(_KINDS)
# What buttons do, said in full: a button that says more, or something else, is content.
_COMMANDS = (
    "submit, send, send message, send request, send a message, ok, okay, yes, no, cancel, close, dismiss, apply, reset, clear, clear all, save,"
    "delete, remove, edit, add, next, back, previous, prev, continue, go, go back, done, skip, search, find, subscribe,"
    "subscribe now, sign up, sign up now, sign in, log in, login, log out, register, register now, join, join now, join us, buy, buy now,"
    "shop now, add to cart, add to bag, add to basket, add to wishlist, add to compare, order, order now, order online, checkout, pay, pay now, book,"
    "book now, book online, reserve, get started, get a quote, request a quote, request a call, call me back, contact us, learn more, read more,"
    "show more, see more, view more, load more, more, show all, view all, see all, show less, read less, expand, collapse, expand all, collapse all, open,"
    "menu, open menu, close menu, toggle navigation, toggle menu, play, pause, stop, mute, unmute, share, print, copy, copy link, copied, download, upload,"
    "choose file, browse, select, choose, accept, accept all, accept cookies, decline, reject, reject all, agree, i agree, got it, allow, allow all,"
    "refresh, retry, try again, filter, filters, sort, like, reply, follow, report, comment, post comment, vote, zoom, fullscreen, full screen,"
    "back to top, scroll to top, previous slide, next slide, slide left, slide right, quick view, compare, notify me, translate,"
    "отправить, отправить заявку, отправить сообщение, отправить запрос, оставить заявку, ок, да, нет, отмена, отменить, закрыть, применить,"
    "сбросить, очистить, сохранить, удалить, изменить, редактировать, добавить, далее, вперед, вперёд, назад, продолжить, готово, пропустить,"
    "найти, искать, поиск, подписаться, войти, вход, выйти, регистрация, зарегистрироваться, вступить, купить, купить сейчас, купить в 1 клик,"
    "купить в один клик, в корзину, добавить в корзину, в избранное, сравнить, заказать, заказать звонок, заказать сейчас, оформить, оформить заказ,"
    "оплатить, записаться, записаться онлайн, записаться на прием, записаться на приём, забронировать, получить консультацию, перезвоните мне,"
    "связаться, связаться с нами, подробнее, узнать больше, читать далее, читать полностью, показать ещё, показать еще, загрузить ещё, загрузить еще,"
    "ещё, еще, показать все, смотреть все, скрыть, свернуть, развернуть, открыть, меню, поделиться, печать, распечатать, скопировать, копировать, скачать,"
    "загрузить, выбрать, выбрать файл, принять, принять все, отклонить, согласен, согласна, понятно, хорошо, разрешить, обновить, повторить,"
    "фильтр, фильтры, сортировка, нравится, ответить, пожаловаться, комментировать, наверх, быстрый просмотр,"
    "жіберу, өтінім қалдыру, сатып алу, себетке, себетке салу, тапсырыс беру, жазылу, толығырақ, тағы, тағы көрсету, жабу, кіру, шығу,"
    "тіркелу, іздеу, сақтау, болдырмау, бөлісу, жүктеу, таңдау, келесі, артқа, мәзір"
)
_PLACEHOLDER = re.compile(
    r"[-–—.…\s]*(?:(?:please )?(?:select|choose|pick)\b|выбер\w+|выбрать|выбор\b|не выбран\w*|таңда\w*|$)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W_]+|©")


class _Lexicon:
    """Words by number, phrases by their first word."""

    def __init__(self) -> None:
        self.exact: dict[str, int] = {}
        self.prefixes: dict[str, int] = {}
        self.lengths: tuple[int, ...] = ()
        self.phrases: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        self._seen: dict[str, tuple[int, ...]] = {}
        for number, listed in enumerate(_KINDS.values()):
            for phrase in listed.split(","):
                ids = tuple(self._number(word) for word in phrase.split())
                self.phrases.setdefault(ids[0], []).append((ids[1:], 1 << number))
        self.lengths = tuple(sorted({len(p) for p in self.prefixes}))

    def _number(self, word: str) -> int:
        table = self.prefixes if word.endswith("*") else self.exact
        return table.setdefault(word.rstrip("*"), len(self.exact) + len(self.prefixes) + 1)

    def words(self, token: str) -> tuple[int, ...]:
        """The numbers of the listed words that *token* matches."""
        found = self._seen.get(token)
        if found is None:
            numbers = [self.exact[token]] if token in self.exact else []
            numbers += [self.prefixes[token[:n]] for n in self.lengths if token[:n] in self.prefixes]
            if len(self._seen) > 50_000:
                self._seen.clear()
            found = self._seen[token] = tuple(numbers)
        return found


_LEXICON = _Lexicon()


def tokens_of(text: str) -> list[str]:
    """The words of *text* in lower case."""
    return _TOKEN.findall(text.lower())


_COMMAND_WORDS = frozenset(tuple(_TOKEN.findall(command)) for command in _COMMANDS.split(","))
_LONGEST_COMMAND = max(map(len, _COMMAND_WORDS))


def is_command(text: str) -> bool:
    """Whether a button's whole text says what it does on the page ("Send"), not what is offered."""
    return len(text) < 20 * _LONGEST_COMMAND and tuple(tokens_of(text)) in _COMMAND_WORDS


def is_placeholder(text: str) -> bool:
    """Whether an option asks to choose one: "Select…"."""
    return _PLACEHOLDER.match(text) is not None


def kinds_of(tokens: list[str]) -> int:
    """A bit for each kind of NAMES of which a phrase stands in *tokens*."""
    lookup, phrases = _LEXICON.words, _LEXICON.phrases
    bits = 0
    for at, token in enumerate(tokens):
        for number in lookup(token):
            for rest, bit in phrases.get(number, ()):
                if not rest or (
                    at + len(rest) < len(tokens)
                    and all(number in lookup(tokens[at + 1 + k]) for k, number in enumerate(rest))
                ):
                    bits |= bit
    return bits
