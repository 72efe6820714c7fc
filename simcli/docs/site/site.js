"use strict";

// The page that is read is seen in the list beside it, which scrolls by itself.
document.addEventListener("DOMContentLoaded", () => {
  const current = document.querySelector("#pages a.current:last-of-type");
  const list = document.querySelector(".sphinxsidebarwrapper");
  if (current && list.scrollHeight > list.clientHeight) list.scrollTop = current.offsetTop - list.clientHeight / 2;
});

// Films play while they are seen, unless the reader wants no motion; each has a control.
document.addEventListener("DOMContentLoaded", () => {
  const films = document.querySelectorAll("video");
  if (!films.length || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) target.play().catch(() => {});
      else target.pause();
    }
  });
  films.forEach((film) => seen.observe(film));
});

// A page that was opened from the file system may fetch no other: of search results, texts.js has the texts.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined" || typeof TEXTS === "undefined") return;
  const nameOf = (url) => url.split("/").pop().replace(/\.html.*$/, "");
  window.fetch = (url) => Promise.resolve({ text: () => TEXTS[nameOf(url)] });
  Search.htmlToText = (sections, anchor) => {
    const first = sections.findIndex(([id]) => `#${id}` === anchor);
    return sections.slice(Math.max(first, 0)).map(([, text]) => text).join("\n");
  };
});
