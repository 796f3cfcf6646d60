import { statSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BelljarError } from "../errors.ts";
import { fileError } from "../files/file-error.ts";
import { flushPath } from "../files/replace-file.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import { ClaimRoom } from "../sandbox/state/claim-room.ts";
import { type Claim, ClaimedFiles, type KnownClaim } from "../sandbox/state/claimed-files.ts";
import { parseTemplate, type TemplateRecord } from "./template-record.ts";

const SHARED = "shared";

/**
 * `templates/<id>/`: `template.json`, and an empty file `shared` if everybody may use it. Other names in the folder are those of the
 * runtimes' own templates.
 */
export class TemplateFiles extends ClaimedFiles<TemplateRecord> {
  readonly #directory: string;

  constructor(home: string, report: (problem: string) => void) {
    const directory = join(home, "templates");
    super({ directory, what: "template", parse: parseTemplate, report });
    this.#directory = directory;
  }

  isShared(id: string): boolean {
    return this.sharedSince(id) !== undefined;
  }

  /** In milliseconds since 1970. Undefined: it is not shared. */
  sharedSince(id: string): number | undefined {
    return statSync(join(this.#directory, id, SHARED), { throwIfNoEntry: false })?.mtimeMs;
  }

  /** One that is shared already keeps its time. */
  async share(id: string, isShared: boolean): Promise<void> {
    const path = join(this.#directory, id, SHARED);
    try {
      await (isShared ? writeFile(path, "", { flag: "a", mode: 0o600 }) : rm(path, { force: true }));
      await flushPath(dirname(path));
    } catch (cause) {
      throw fileError(path, cause);
    }
  }
}

/** A claim rejects with `TEMPLATE_BUSY` while the owner has another one of the same name in the making. */
export function openTemplateRoom(home: string, files: TemplateFiles): ClaimRoom {
  const refusal = (_principal: Principal, { name }: Claim, earlier: readonly KnownClaim[]): BelljarError | undefined =>
    earlier.some((claim) => claim.isMaking && claim.name === name) ? busy(name ?? "") : undefined;
  return new ClaimRoom({ files, directory: join(home, "templates"), refusal });
}

function busy(name: string): BelljarError {
  return new BelljarError("TEMPLATE_BUSY", `The template "${name}" is being made by another call: wait for it, or choose another name`);
}
