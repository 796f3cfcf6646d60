import { expect } from "vitest";
import type { Guest } from "../../src/sandbox/sandbox.ts";
import { WarmPrograms } from "../../src/interpreter/warm/warm-programs.ts";
import { makeWheel } from "../support/package-lab.ts";
import { openPackedLab } from "../support/packed-lab.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

const marking = (name: string): string => `import os; open("/tmp/ran", "a").write("${name} ")\n`;
/** Each of these a Python runs by itself when it starts, where its folder is among the places of modules. */
const BESIDE = {
  "sitecustomize.py": marking("sitecustomize"),
  "usercustomize.py": marking("usercustomize"),
  "probing.pth": marking("pth"),
};

/** Starts a Python as the tool has it, which takes its packages' folder as a place of modules. */
const STARTS = `# <requirements>
# probing
# </requirements>
import os, subprocess, sys
@mcp.tool(description="What ran in a Python that was started")
def starts() -> str:
    subprocess.run([sys.executable, "-c", "import os, site; site.addsitedir(os.environ['PYTHONPATH'])"], check=True)
    return " ".join([os.uname().nodename, open("/tmp/ran").read()])
`;

const LOOK = "cat /tmp/ran; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'python[3] main'";

verifies(
  "waiting-given-once",
  async () => {
    const guests = new Map<string, Guest>();
    const programs = new WarmPrograms(["json"]);
    await using lab = await openPackedLab({
      passing: {
        kinds: 1,
        size: 1,
        warm: async (start, sandbox, signal) => {
          guests.set(sandbox.id, sandbox.guest);
          if (start === "python") await programs.warm(sandbox, signal);
        },
      },
    });
    lab.index.offer(...makeWheel("probing", "1.0", "", BESIDE));
    await lab.add(STARTS);
    const [id = ""] = await lab.hasWaiting(1);
    const look = { argv: ["sh", "-c", LOOK], user: "root", signal: AbortSignal.timeout(30_000) } as const;
    const waits = await guests.get(id)?.run(look);
    expect([String(waits?.stdout), String(waits?.stderr)], "a Python waits, and nothing of the package ran").toEqual([
      "1\n",
      expect.stringContaining("/tmp/ran: No such file"),
    ]);
    const [at, ...ran] = textOf(await lab.call("starts"))
      .trim()
      .split(" ");
    expect(at).toBe(id);
    expect(new Set(ran), "the attack works in a Python that has the package").toEqual(new Set(["sitecustomize", "usercustomize", "pth"]));
  },
  120_000,
);
