import { expect } from "vitest";
import { type BuildLab, inside, openBuildLab } from "../support/build-lab.ts";
import { STATE_STORAGES } from "../support/state-home.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const [BEGIN, END] = ["kept-4c1d9e", "-from-layers"];
const SECRET = `${BEGIN}${END}`;
const FORMS = [SECRET, ...(["base64", "hex"] as const).map((form) => Buffer.from(SECRET).toString(form))];
/** Looks for the value without having it in its own text. */
const LOOK = `if grep -rsqF ${BEGIN}"${END}" /dev/shm /run /srv /tmp /root /proc/self/environ; then echo found; else echo none; fi`;
const PRINT = 'echo "$TOKEN" >&2; printf %s "$TOKEN" | base64; printf %s "$TOKEN" | od -An -v -tx1 | tr -d " \\n"; echo';

/** Where the value comes to light once a build has run these lines, with what the next step and a sandbox of the template find. */
async function leaksOf(lab: BuildLab, lines: readonly string[], more: Parameters<BuildLab["build"]>[1]) {
  const failed: unknown = await lab.build(["FROM base", ...lines].join("\n"), more).catch((cause: unknown) => cause);
  const told = `${String(failed)}${lab.log()}`;
  const { out } = await outside(["grep", "-rlF", "--", SECRET, lab.home.crash.home]);
  return { told: FORMS.filter((form) => told.includes(form)), isKept: out !== "", step: /^(?:found|none)$/m.exec(lab.log())?.[0], failed };
}

verifies(
  "builds-keep-secrets",
  async () => {
    for (const storage of STATE_STORAGES) {
      await using lab = await openBuildLab({ storage });
      const show = "RUN --mount=type=secret,id=token --mount=type=secret,id=token,target=/srv/t --mount=type=secret,id=token,env=TOKEN";
      const secrets = { token: SECRET };
      const hidden = { told: [], isKept: false, step: "none" };
      const seen = `[ "$(cat /run/secrets/token)" = "$TOKEN" ] && [ "$(cat /srv/t)" = "$TOKEN" ] && [ $\{#TOKEN} = ${SECRET.length} ]`;
      for (const attack of [
        PRINT,
        `printf ${BEGIN}; cat /bin/sh > /dev/null; echo ${END}`,
        "rm /srv/t /run/secrets/token; echo $TOKEN > /srv/t; mkdir /run/secrets/token; echo $TOKEN | tee /run/secrets/token/more > /run/secrets/more",
        "cp /srv/t /dev/shm/more; (trap '' HUP TERM; exec 9< /srv/t; cd /run/secrets; sleep 1000) > /dev/null 2>&1 & true",
      ]) {
        expect(await leaksOf(lab, [`${show} ${seen} && { ${attack}; }`, `RUN ${LOOK}`], { secrets }), attack).toMatchObject(hidden);
        expect(await inside(lab, LOOK), attack).toBe("none");
      }
      const failing = await leaksOf(lab, [`RUN ${LOOK}`, `${show} ${PRINT}; exit 3`], { secrets });
      expect(failing).toMatchObject({ ...hidden, failed: { code: "COMMAND_FAILED" } });
      // The same value as an argument of the build comes to light everywhere.
      const plain = ["ARG TOKEN", "ENV MORE=$TOKEN", `RUN ${PRINT}; echo $TOKEN > /srv/t`, `RUN ${LOOK}`];
      expect(await leaksOf(lab, plain, { buildArgs: { TOKEN: SECRET } })).toMatchObject({ told: FORMS, isKept: true, step: "found" });
      expect(await inside(lab, LOOK)).toBe("found");
    }
  },
  120_000,
);
