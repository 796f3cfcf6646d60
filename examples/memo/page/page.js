const { url } = await (await fetch("/back-end.json")).json();
const $ = (id) => document.getElementById(id);

async function ask(method, path, body) {
  const sent = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(url + path, { method, ...sent });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** What a memo says is text, never markup. */
function show(memo) {
  const item = $("memo").content.cloneNode(true).firstElementChild;
  item.dataset.id = memo.id;
  item.querySelector("h2").textContent = memo.title;
  item.querySelector("p").textContent = memo.text;
  item.querySelector("time").textContent = new Date(memo.updated).toLocaleString();
  item.querySelector(".remove").onclick = () => attempt(() => ask("DELETE", `/memos/${memo.id}`));
  item.querySelector(".edit").onclick = () => {
    const text = prompt(memo.title, memo.text);
    if (text !== null) attempt(() => ask("PUT", `/memos/${memo.id}`, { text }));
  };
  return item;
}

async function draw() {
  const { memos } = await ask("GET", "/memos");
  $("memos").replaceChildren(...memos.map(show));
  $("empty").hidden = memos.length > 0;
}

async function attempt(work) {
  try {
    await work();
    $("problem").hidden = true;
  } catch (error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }
}

$("new").onsubmit = (event) => {
  event.preventDefault();
  const form = event.target;
  attempt(async () => {
    await ask("POST", "/memos", Object.fromEntries(new FormData(form)));
    form.reset();
  });
};
const changes = new EventSource(`${url}/changes`);
// After a break too.
changes.onopen = () => attempt(draw);
changes.onmessage = () => attempt(draw);
