import { HOSTILE_TEXTS } from "./hostile-texts.ts";

/** Where they lie in the sandbox; the folder is a git repository and an npm package too. */
export const HOSTILE_FOLDER = "/home/user/hostile";

/** A path that is longer than any call of the system takes. */
const DEEP = String.raw`
for level in range(2000):
    os.makedirs("deep", exist_ok=True); os.chdir("deep")
`;
/** Files that are made from nothing else; every text of the corpus is a file as well, `texts/WHAT`. */
const PREPARE = String.raw`
import json, os, subprocess, sys
os.makedirs("/home/user/hostile/texts", exist_ok=True)
os.chdir("/home/user/hostile")
def write(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file: file.write(content)
write("equal-lines.txt", b"a\n" * 1000000)
write("changed-lines.txt", b"a\n" * 1000000)
write("long-line.txt", b"a" * 60000 + b"\n")
write("longer-line.txt", b"a" * 3000000 + b"\n")
write("large.txt", b"abcd\n" * 1600000)
write("no-break.txt", b"a" * 8000000)
write("letters.py", b"def a():\n" + b"  a(a, a)\n" * 100000)
write("one-line.js", b"a(a,a);" * 500000)
write("bytes", bytes(range(256)) * 8000)
write("not-utf8.txt", b"\xff\xfe\xc3\x28 a\n" * 100000)
write("page.html", b"<div>" * 50000 + b"a" * 100000 + b"<table>" * 5000)
write("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\x00\x00\x00" + b"\0" * 3000000)
write("pages.pdf", b"%PDF-1.7\n" + b"1 0 obj <</Length 9999999>> stream\n" * 60000)
write("notes.ipynb", b'{"cells":[' + b'{"cell_type":"code","source":["a"]},' * 50000 + b'{}]}')
write(".gitignore", b"**/a*b*c*d*e*\n" * 5000 + b"!" * 60000 + b"\n")
scripts = {"s%d" % n: "a" * 50 for n in range(50000)}
write("package.json", json.dumps({"name": "a" * 60000, "scripts": {**scripts, "a": "yes", "test": "head -c 50000000 /dev/zero"}}).encode())
os.makedirs("names", exist_ok=True)
for n in range(20000): open("names/%06d" % n + "n" * 100, "wb").close()
for name in [b"new\nline", b"\xff\xfe", b"-rf", b"\xe2\x80\xae", b"a" * 255]: open(b"names/" + name, "wb").close()
here = os.open(".", os.O_RDONLY)
${DEEP}
os.fchdir(here)
git = lambda *args, **more: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@a", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
git("init", "-q", "-b", "main")
git("add", "-f", "equal-lines.txt", "changed-lines.txt", "long-line.txt", "longer-line.txt", "large.txt", "no-break.txt", "one-line.js", "not-utf8.txt")
git("commit", "-q", "-F", "-", input=b"a" * 60000 + b"\n\n" + b"a\n" * 500000)
git("commit", "-q", "--allow-empty", "-F", "-", input=b"s://" * 15000)
head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
for n in range(3000): write(".git/refs/heads/%s%d" % ("b" * 200, n), head)
git("config", "remote.origin.url", "https://" + "a" * 60000)
write("changed-lines.txt", b"b\na\n" * 500000)
write("long-line.txt", b"a" * 30000 + b"b" + b"://" * 10000 + b"\n")
write("longer-line.txt", b"a" * 1500000 + b"b" * 1500000 + b"\n")
write("no-break.txt", b"ab" * 4000000)
write("one-line.js", b"b(a,a);" * 500000)
`;

/** A copy beside it, and what puts back from there what a call has changed, and ends what it left running. */
const KEEP = String.raw`
import os, subprocess
os.mkdir("/home/user/pristine"); os.chdir("/home/user/hostile")
subprocess.run(["cp", "-a", *[name for name in os.listdir() if name != "deep"], "/home/user/pristine"], check=True)
`;
const RESTORE = String.raw`
import os, subprocess
subprocess.run(["pkill", "-KILL", "-x", "yes|tr"])
kept, live = "/home/user/pristine", "/home/user/hostile"
def state(path):
    if not os.path.lexists(path): return None
    found = os.lstat(path)
    return len(os.listdir(path)) if os.path.isdir(path) else (found.st_size, found.st_mtime_ns)
names = os.listdir(kept) + ["texts/" + name for name in os.listdir(kept + "/texts")]
for name in sorted(names):
    if name == ".git" or state(kept + "/" + name) == state(live + "/" + name): continue
    subprocess.run(["rm", "-rf", live + "/" + name], check=True)
    subprocess.run(["cp", "-a", kept + "/" + name, live + "/" + name], check=True)
os.chdir(live)
if not os.path.isdir("deep/deep"):
    ${DEEP.replaceAll("\n", "\n    ")}
`;

/** Paths that every tool is asked about, relative to the folder. */
export const HOSTILE_FILES: readonly string[] = [
  ".",
  "names",
  "deep",
  "equal-lines.txt",
  "longer-line.txt",
  "large.txt",
  "no-break.txt",
  "bytes",
  "picture.png",
  "pages.pdf",
  "package.json",
  "deep/".repeat(700),
  "/dev/zero",
].map((name) => (name.startsWith("/") ? name : `${HOSTILE_FOLDER}/${name}`));

/** How the files are made: by the tools themselves. */
export interface Inside {
  python(program: string): Promise<unknown>;
  writeFile(path: string, content: string): Promise<unknown>;
}

/** Answers the paths of the texts. */
export async function makeHostileFiles(inside: Inside): Promise<readonly string[]> {
  await inside.python(PREPARE);
  const texts = Object.entries(HOSTILE_TEXTS).map(([what, make]) => ({
    path: `${HOSTILE_FOLDER}/texts/${what.replaceAll(" ", "-")}`,
    make,
  }));
  for (const { path, make } of texts) await inside.writeFile(path, make());
  await inside.python(KEEP);
  return texts.map(({ path }) => path);
}

/** Puts back what calls have changed. */
export async function restoreHostileFiles(inside: Pick<Inside, "python">): Promise<void> {
  await inside.python(RESTORE);
}
