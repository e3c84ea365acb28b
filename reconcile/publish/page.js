const old = document.body.dataset.old * 1000, units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
function since(time) {
  const s = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000), [size, unit] = units.find(([n]) => s >= n) || units[3];
  return time.textContent = Math.floor(s / size) + " " + unit, s * 1000;
}
function tick() {
  document.querySelectorAll("time.age").forEach(since);
  document.body.classList.toggle("old", since(document.querySelector("#written")) > old);
}
tick(); setInterval(tick, 5000);
