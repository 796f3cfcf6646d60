import { describe, expect, it } from "vitest";
import { INSIDE } from "../../src/protocol/inside.ts";
import { itNeeds, run, shareSandbox, soon } from "./contract-sandbox.ts";
import type { ContractFeatures, OpenRuntime } from "./contract-sandbox.ts";

/** What docs/reference/inside.md promises. */
export function insideContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("inside", () => {
    const shared = shareSandbox(open);
    const print = async (script: string, user?: string): Promise<string> =>
      (await run(shared.guest(), script, user === undefined ? {} : { user })).stdout.toString().trim();

    it("has the user's home where relative paths begin", async () => {
      const { files } = shared.guest();
      await files.write("inside.txt", Buffer.from("home"), { signal: soon() });
      expect(String(await files.read(`${INSIDE.userHome}/inside.txt`, { signal: soon(), maxBytes: 10 }))).toBe("home");
      expect(String(await files.read(`${INSIDE.workspace}/inside.txt`, { signal: soon(), maxBytes: 10 }))).toBe("home");
    });

    itNeeds(features, "isolation")("starts commands as the user, in its home", async () => {
      expect(await print('echo "$(id -un) $(id -u) $(id -g) $HOME $PWD"')).toBe(
        `${INSIDE.user} ${INSIDE.userId} ${INSIDE.userId} ${INSIDE.userHome} ${INSIDE.userHome}`,
      );
    });

    itNeeds(features, "twoUsers")("has a root beside the user", async () => {
      expect(await print('echo "$(id -un) $(id -u) $HOME"', INSIDE.root)).toBe(`${INSIDE.root} ${INSIDE.rootId} ${INSIDE.rootHome}`);
    });

    itNeeds(features, "isolation")("leads from the workspace to the user's home", async () => {
      expect(await print(`readlink -f ${INSIDE.workspace}`)).toBe(INSIDE.userHome);
    });

    itNeeds(features, "isolation")("lets nobody inside change its own programs", async () => {
      const script = `test -d ${INSIDE.programs} && for at in ${INSIDE.programs} ${INSIDE.kernels}; do touch $at/x 2>/dev/null && echo $at; done; echo done`;
      for (const user of [INSIDE.user, INSIDE.root]) expect(await print(script, user)).toBe("done");
    });
  });
}
