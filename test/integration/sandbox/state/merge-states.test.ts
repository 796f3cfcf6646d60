import { expect, it } from "vitest";
import { soon } from "../../../contract/contract-sandbox.ts";
import { STATE_STORAGES } from "../../../support/state-home.ts";
import { openStateLab, setXattr, type StateLab, type StateSandbox, tellXattrs } from "../../../support/state-lab.ts";

const LINES = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; done";
const LOOK = "cd work && find . -printf '%P %y %m %u %l\\n' | LC_ALL=C sort";

interface Forked {
  readonly ours: StateSandbox;
  readonly merge: () => Promise<{ readonly changed: readonly string[]; readonly conflicts: Readonly<Record<string, string>> }>;
}

/** Both begin with what `base` makes in `work`. */
async function forked(lab: StateLab, scripts: { readonly base: string; readonly theirs: string; readonly ours: string }): Promise<Forked> {
  const ours = await lab.sandbox();
  await ours.sh(`mkdir work; cd work; ${scripts.base}`, "user");
  const base = await ours.freeze();
  const theirs = await lab.sandbox({ layers: base.layers });
  await theirs.sh(`cd work; ${scripts.theirs}`, "user");
  await ours.sh(`cd work; ${scripts.ours}`, "user");
  return {
    ours,
    async merge() {
      const { changed, conflicts } = await lab.comparison.merge({ states: lab.states, base, ours: ours.now, theirs: theirs.now, guest: ours.guest, signal: soon() }); // prettier-ignore
      const short = (path: string): string => path.replace("/home/user/work/", "");
      return { changed: changed.map(short), conflicts: Object.fromEntries(conflicts.map(({ path, reason }) => [short(path), reason])) };
    },
  };
}

it("a merge brings a fork's changes, and merges texts that both changed", async () => {
  await using lab = await openStateLab("home");
  const { ours, merge } = await forked(lab, {
    base: `${LINES} > text; echo gone > gone; echo same > same; mkdir folder; echo in > folder/in; ln -s a link; echo s > script; echo t > becomes`,
    theirs: `sed -i s/2/two/ text; rm gone; echo SAME > same; rm -r folder; ln -sfn b link; chmod 755 script; rm becomes; mkdir becomes; echo i > becomes/i; echo n > new; mkdir -p x/y; echo z > x/y/z`,
    ours: `sed -i s/8/eight/ text; echo SAME > same; echo mine > mine`,
  });
  const { changed, conflicts } = await merge();
  expect(conflicts).toEqual({});
  expect(changed).toEqual(["becomes", "becomes/i", "folder", "folder/in", "gone", "link", "new", "script", "text", "x", "x/y", "x/y/z"]);
  expect(await ours.sh("cat work/text")).toBe("1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");
  expect(await ours.sh("cat work/same work/mine work/x/y/z work/becomes/i; readlink work/link; stat -c '%a %U' work/script")).toBe(
    "SAME\nmine\nz\ni\nb\n755 user\n",
  );
  expect((await merge()).changed).toEqual([]);
});

it("a merge leaves alone what both changed otherwise, and says why", async () => {
  await using lab = await openStateLab("home");
  const { ours, merge } = await forked(lab, {
    base: `${LINES} > text; printf 'a\\0b' > binary; echo r > removed; echo c > changed; ln -s a link; echo m > mode; mkdir one two three; echo f > one/f; echo f > two/f; echo f > three/f; head -c 1100000 /dev/zero > large`,
    theirs: `sed -i s/5/FIVE/ text; printf 'x\\0b' > binary; rm removed; echo C > changed; ln -sfn theirs link; chmod 700 mode; echo theirs > added; rm -r one; rm -r two; echo file > two; echo new > three/new; echo T >> large`,
    ours: `sed -i s/5/five/ text; printf 'y\\0b' > binary; echo R > removed; rm changed; ln -sfn ours link; chmod 755 mode; echo ours > added; echo g > one/g; echo g > two/g; rm -r three; echo O >> large`,
  });
  const before = await ours.sh(LOOK);
  const { changed, conflicts } = await merge();
  expect(conflicts).toEqual({
    added: "both added it, with other contents",
    binary: "both changed it, and it is no text",
    changed: "they changed it, and it was removed here",
    large: "both changed it, and it is too large to merge",
    link: "both changed where the link leads",
    mode: "both changed its mode",
    one: "they removed or replaced the folder, and something in it was changed here",
    removed: "they removed it, and it was changed here",
    text: "both changed the same lines",
    "three/new": "the folder that holds it was removed or replaced here",
    two: "they removed or replaced the folder, and something in it was changed here",
  });
  expect(changed).toEqual(["one/f"]);
  expect(await ours.sh(LOOK)).toBe(before.replace(/^one\/f .*\n/m, ""));
});

it.each(STATE_STORAGES)("a merge takes files of every name, holes, attributes, and both names of a file, on %s", async (storage) => {
  await using lab = await openStateLab(storage);
  const long = "n".repeat(255);
  const { ours, merge } = await forked(lab, {
    base: "echo old > a; ln a b",
    theirs: `rm b; echo new > a; ln a b; echo x > ${long}; echo y > "$(printf 'line\\nbreak')"; printf z > "$(printf 'b\\377d')"; truncate -s 100M hole; printf middle | dd of=hole bs=1 seek=50M conv=notrunc status=none; ln -s ../../../etc/passwd out; ${setXattr("a", "colour", "blue")}; mkdir folder; ${setXattr("folder", "colour", "red")}`,
    ours: "true",
  });
  const { conflicts, changed } = await merge();
  expect(conflicts).toEqual({});
  expect(changed).toEqual(expect.arrayContaining(["a", "b", "folder", "hole", long, "out"]));
  expect(
    await ours.sh(`cd work; cat a b ${long}; cat "$(printf 'line\\nbreak')"; cat "$(printf 'b\\377d')"; stat -c %s hole; readlink out`),
  ).toBe("new\nnew\nx\ny\nz104857600\n../../../etc/passwd\n");
  expect(await ours.sh("cd work; tail -c +52428801 hole | head -c 6; du -k hole | awk '{ print ($1 < 1024) }'")).toBe("middle1\n");
  expect((await merge()).changed).toEqual([]);
  expect(await ours.sh(`cd work; ${tellXattrs("a", "b", "folder")}; echo x >> a; tail -n 1 b; stat -c %h a`)).toBe(
    "user.colour=blue\nuser.colour=blue\nuser.colour=red\nx\n2\n",
  );
});

it("a merge judges extended attributes as it judges modes", async () => {
  await using lab = await openStateLab("home");
  const paint = (value: string): string => setXattr("$name", "colour", value);
  const { ours, merge } = await forked(lab, {
    base: `for name in theirs ours both alike; do echo $name > $name; mkdir $name.d; done; for name in *; do ${paint("old")}; done`,
    theirs: `for name in theirs* both*; do ${paint("theirs")}; done; for name in alike*; do ${paint("same")}; done`,
    ours: `for name in ours* both*; do ${paint("ours")}; done; for name in alike*; do ${paint("same")}; done`,
  });
  const { changed, conflicts } = await merge();
  expect(changed).toEqual(["theirs", "theirs.d"]);
  expect(conflicts).toEqual({ both: "both changed its extended attributes", "both.d": "both changed its extended attributes" });
  expect((await ours.sh(`cd work; ${tellXattrs("theirs", "theirs.d", "ours", "ours.d", "both")}`)).trim().split("\n")).toEqual(
    ["theirs", "theirs", "ours", "ours", "ours"].map((value) => `user.colour=${value}`),
  );
});

it("a merge of a text that both changed keeps the attributes of either", async () => {
  await using lab = await openStateLab("home");
  const { ours, merge } = await forked(lab, {
    base: `${LINES} > one; ${LINES} > other`,
    theirs: `sed -i s/2/two/ one; ${setXattr("one", "by", "theirs")}; sed -i s/2/two/ other`,
    ours: `sed -i s/8/eight/ one; sed -i s/8/eight/ other; ${setXattr("other", "by", "ours")}`,
  });
  expect(await merge()).toEqual({ changed: ["one", "other"], conflicts: {} });
  expect(await ours.sh(`cd work; grep -c t one other; ${tellXattrs("one", "other")}`)).toBe(
    "one:2\nother:2\nuser.by=theirs\nuser.by=ours\n",
  );
});

it("two names of a file that were merged to different texts are two files", async () => {
  await using lab = await openStateLab("home");
  const { ours, merge } = await forked(lab, {
    base: `${LINES} > one; cp one other`,
    theirs: "sed -i s/2/two/ one; ln -f one other",
    ours: "sed -i s/8/eight/ other",
  });
  expect(await merge()).toEqual({ changed: ["one", "other"], conflicts: {} });
  expect(await ours.sh("cd work; cat one | tail -n 2; tail -n 2 other; stat -c %h one other")).toBe("8\n9\neight\n9\n1\n1\n");
});

it("a merge names a file with more extended attributes than can be carried", async () => {
  await using lab = await openStateLab("tmpfs");
  const { merge } = await forked(lab, {
    base: "touch many few",
    theirs: `for n in $(seq 30); do ${setXattr("many", "$n", "v".repeat(1_000))}; done; ${setXattr("few", "value", "v".repeat(20_000))}`,
    ours: "true",
  });
  const { changed, conflicts } = await merge();
  expect(changed).toEqual(["few"]);
  expect(conflicts).toEqual({ many: expect.stringMatching(/^it has more than 24 KiB of extended attributes/) });
});
