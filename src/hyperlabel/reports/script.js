// Tables sort by a click on a head, boxes that scroll say so, and closed parts are printed where they are few.
for (const table of document.querySelectorAll("section table")) {
  const body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  for (const head of table.tHead.rows[0].cells) {
    if (!head.textContent.trim()) continue;
    head.tabIndex = 0;
    head.classList.add("sorts");
    head.title = "sort";
    const sort = () => {
      const place = head.cellIndex;
      const numbers = head.classList.contains("number");
      const down = head.ariaSort ? head.ariaSort !== "descending" : numbers;
      const key = (row) => {
        const cell = row.cells[place];
        const text = cell.textContent;
        return numbers ? Number(cell.dataset.sort ?? text.replace(/[,%]/g, "")) || 0 : text;
      };
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => (numbers ? a - b : a.localeCompare(b, undefined, { numeric: true })));
      if (down) rows.reverse();
      body.append(...rows.map(([, row]) => row));
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      head.ariaSort = down ? "descending" : "ascending";
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  }
}
const hints = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    const down = box.scrollHeight > box.clientHeight + 2, right = box.scrollWidth > box.clientWidth + 2;
    let hint = box.nextElementSibling;
    if (!hint?.classList.contains("hint")) {
      hint = document.createElement("p");
      hint.className = "hint soft";
      box.after(hint);
    }
    hint.hidden = !(down || right);
    const ways = [down && "down ↓", right && "sideways →"].filter(Boolean).join(" and ");
    hint.textContent = `More: scroll ${ways} in this box.`;
  }
};
hints();
addEventListener("resize", hints);
const parts = [...document.querySelectorAll("details")];
for (const part of parts) part.addEventListener("toggle", hints);
const open = () => {
  const name = decodeURIComponent(location.hash.slice(1));
  const part = name && document.getElementById(name);
  if (part?.tagName === "DETAILS") part.open = true;
};
open();
addEventListener("hashchange", open);
addEventListener("beforeprint", () => { if (parts.length <= 24) for (const part of parts) part.open = true; });
