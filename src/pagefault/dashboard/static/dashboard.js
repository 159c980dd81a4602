// Everything on these pages works without this file: it keeps them up to date, lets the slider move
// the window while it is dragged, and adds a few keys. All that is shown is made by the server.
"use strict";

const body = document.body;
const base = body.dataset.base;
const SHARE = 25; // refreshing takes at most this part of the time: a twenty-fifth

document.documentElement.classList.add("js");

// --- a part of the page is put in the place of what it showed before ---

let took = 0; // ms that the last fetch needed
let under_way = null;

// What finds an element again in the part that takes the place of its own.
function like(element) {
  const href = element.getAttribute("href");
  return href === null ? `${element.localName}[tabindex]` : `a[href="${CSS.escape(href)}"]`;
}

async function show(address, { push = false } = {}) {
  under_way?.abort();
  const mine = (under_way = new AbortController());
  const began = performance.now();
  let page;
  try {
    const answer = await fetch(address, { signal: mine.signal, headers: { accept: "text/html" } });
    if (!answer.ok && answer.status !== 404) return false;
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.status === 404 && !page.querySelector("[id^=part-]")) location.reload(); // no session
  } catch (error) {
    if (error.name === "AbortError") return false;
    throw error;
  }
  took = performance.now() - began;
  for (const part of document.querySelectorAll("[id^=part-]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh || fresh.isEqualNode(part)) continue;
    const scroll = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    const focus = part.contains(document.activeElement) ? like(document.activeElement) : "";
    part.replaceWith(document.importNode(fresh, true));
    const shown = document.getElementById(part.id);
    shown.querySelectorAll(".scroll").forEach((one, n) => {
      one.scrollLeft = scroll[n] ?? 0;
    });
    shown.querySelectorAll("details").forEach((one, n) => {
      one.open = open[n] ?? false;
    });
    if (focus) shown.querySelector(focus)?.focus({ preventScroll: true });
  }
  const slider = document.getElementById("request");
  const fresh = page.getElementById("request");
  if (slider && fresh) {
    slider.max = fresh.max;
    if (document.activeElement !== slider || !push) slider.value = fresh.value;
  }
  if (push) history.replaceState(null, "", address);
  return true;
}

// --- live ---

const live = document.getElementById("live");
let due = false;
let timer = null;

function say(words, on) {
  live.textContent = words;
  live.classList.toggle("on", on);
}

function refresh() {
  due = true;
  if (timer === null && !document.hidden) timer = setTimeout(now, Math.max(150, SHARE * took));
}

async function now() {
  due = false;
  await show(location.href).catch(() => say("not connected", false));
  timer = null;
  if (due) refresh();
}

// A browser opens six connections to a server at most, and a stream is one. So of all windows that are
// seen one has the stream, while it holds the lock, and tells the others.
const windows = new BroadcastChannel("pagefault");
const ASKED = "asked", CHANGED = "changed"; // else a message is what `live` says
let turn = null; // ends this window's wait for the lock, or its stream
let said = null; // by the window with the stream

function hear({ data }) {
  if (data === CHANGED) return refresh();
  if (data !== ASKED) return say(data, data === "live");
  if (said !== null) windows.postMessage(said);
}

function tell(data) {
  if (data !== CHANGED) said = data;
  hear({ data });
  windows.postMessage(data);
}

function stream(signal) {
  return new Promise((done) => {
    const events = new EventSource(`${base}/events`);
    events.onopen = () => {
      tell("live");
      tell(CHANGED); // perhaps: while nobody had the stream
    };
    events.onerror = () => tell("not connected");
    events.addEventListener("change", () => tell(CHANGED));
    signal.onabort = () => {
      events.close();
      said = null;
      done();
    };
  });
}

function follow() {
  if (document.hidden === (turn === null)) return;
  if (document.hidden) return leave();
  turn = new AbortController();
  const { signal } = turn;
  navigator.locks.request("pagefault", { signal }, () => stream(signal)).catch(() => {});
  windows.postMessage(ASKED);
}

function leave() {
  turn?.abort();
  turn = null;
}

if ("locks" in navigator) {
  windows.onmessage = hear;
  follow();
  document.addEventListener("visibilitychange", () => {
    follow();
    refresh();
  });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    follow();
    refresh();
  });
}

// --- the slider, and keys ---

document.addEventListener("input", ({ target }) => {
  if (target.id !== "request") return;
  const place = new URL(target.form.action);
  if (target.value !== target.max) place.searchParams.set("request", target.value); // else: live
  show(place.href, { push: true }).catch(() => say("not connected", false));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select, [tabindex='0']");
  if (event.key === "/" && event.target.id !== "search") {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "Escape" && event.target.id === "search") {
    event.target.blur();
  } else if (!typing && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    const step = document.querySelector(event.key === "ArrowLeft" ? "a[rel=prev]" : "a[rel=next]");
    if (step) show(step.href, { push: true }).catch(() => say("not connected", false));
  }
});
