import { readdirSync, readlinkSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { createSandbox, run, soon } from "../contract/contract-sandbox.ts";
import { guestOf as guestPid, keeperOf } from "../support/home-traces.ts";
import { openRaiseLab, tell } from "../support/raise-lab.ts";
import { isRoot } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

/** Holds a file that it has written to, by a descriptor, by a map and by its folder, and writes to all of them when it is told. */
const HOLD = `
import mmap, os, signal, sys
os.makedirs("held", exist_ok=True)
os.chdir("held")
file = open("file", "w+b")
file.write(b"before" + bytes(4090)); file.flush()
view = mmap.mmap(file.fileno(), 4096)
def write(*_):
    view[0:5] = b"MAPPD"
    file.seek(100); file.write(b"later"); file.flush()
    open("beside", "w").write("x")
signal.signal(signal.SIGUSR1, write)
open("../ready", "w").write("x")
while True: signal.pause()
`;

/** What root inside can try: every mount and descriptor that it can name. */
const SEARCH = [
  "find / -xdev -name '.frozen-*' -o -xdev -name .next 2>/dev/null",
  "ls -d /storage /stage /root-1 /tmp/storage /proc/1/root/storage 2>/dev/null",
  "grep -o ' /[^ ]*frozen[^ ]* ' /proc/self/mountinfo",
  "for fd in /proc/[0-9]*/fd/*; do readlink $fd; done 2>/dev/null | grep -E 'mnt:|storage|frozen'",
  "nsenter -t 1 -m true 2>/dev/null && echo entered",
].join("; ");

/** Of the first process inside: the namespace of its programs is its own. */
function namespacesOf(pid: number): readonly string[] {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return links.filter((link) => /^(?:mnt|user):/.test(link) && link !== readlinkSync(`/proc/${pid}/ns/user`));
}

verifies("raised-layers-stay", async () => {
  for (const storage of ["tmpfs", "home"] as const) {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    const { guest } = sandbox;
    const read = async (layers: readonly string[]) => {
      const view = { sandbox: { ...sandbox.spec, template: "base" }, layers };
      return await text(lab.states.read(view, Buffer.from("/home/user/held/file"), { maxBytes: 10_000, signal: soon() }));
    };
    await guest.files.write("hold.py", HOLD, { signal: soon() });
    await run(guest, "python3 hold.py > /dev/null 2>&1 & echo $! > pid; while [ ! -e ready ]; do sleep 0.01; done");
    // A program with the file open: its layer is not taken from below it, and what it writes then is in no checkpoint.
    const copied = await lab.freeze(sandbox);
    expect(copied.way).toBe("copy");
    const end = "kill $(cat pid); while [ -e /proc/$(cat pid) ]; do sleep 0.01; done";
    await run(guest, `kill -USR1 $(cat pid); while [ ! -e held/beside ]; do sleep 0.01; done; ${end}`);
    expect(await tell(guest, "head -c 5 held/file; dd if=held/file bs=1 skip=100 count=5 2>/dev/null")).toBe("MAPPDlater");
    expect((await read(copied.layers)).slice(0, 6)).toBe("before");

    const raised = await lab.freeze(sandbox);
    expect(raised.way).toBe("clone");
    for (const user of ["root", "user"]) expect((await run(guest, SEARCH, { user })).stdout.toString()).toBe("");
    if (isRoot) expect(namespacesOf(guestPid(keeperOf(sandbox.spec.folder)))).toHaveLength(1);
    await run(
      guest,
      "echo x > held/file; chmod 777 held; rm -r held/beside; find / -xdev -type f -size -1k -exec sh -c 'echo x >> $0' {} \\; 2>/dev/null",
      {
        user: "root",
      },
    );
    expect((await read(raised.layers)).slice(0, 5)).toBe("MAPPD");
  }
});
