// Asks each second how far the host is, until the account is live. Without scripts the page reloads itself instead. No question
// waits for long: an app that is gone for a moment may not even refuse.
const main = document.querySelector('main');
async function look() {
  let now = null;
  try {
    const answer = await fetch(location.pathname + '/state', { cache: 'no-store', signal: AbortSignal.timeout(3000) });
    if (answer.ok) now = await answer.json();
  } catch { /* what is shown stays, and it is asked again */ }
  if (now) {
    main.dataset.state = now.state;
    document.title = `${now.login}: ${now.state}`;
    for (const id of ['state', 'says']) {
      const place = document.getElementById(id);
      if (place.textContent !== now[id]) place.textContent = now[id]; // a change is read out, a repetition is not
    }
  }
  if (now?.state !== 'live') setTimeout(look, 1000);
}
setTimeout(look, 300);
