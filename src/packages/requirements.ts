import { BelljarError } from "../errors.ts";
import type { PackageLock } from "./package-lock.ts";

export type Installer = PackageLock["installer"];

/** The packages that somebody asks for. */
export interface PackageWish {
  readonly installer: Installer;
  /** Each is a name, and perhaps which versions of it. Sorted. */
  readonly requirements: readonly string[];
  /** Packages may run code of theirs while they are installed. */
  readonly mayBuild: boolean;
}

interface Form {
  readonly pattern: RegExp;
  readonly advice: string;
}

const VERSION = String.raw`(?:===?|~=|!=|<=?|>=?) ?[\w.*+!-]{1,80}`;
const FORMS: Readonly<Record<Installer, Form>> = {
  pip: {
    // The name, extras, versions and a marker of PEP 508. No `@`, so no address.
    pattern: new RegExp(
      String.raw`^[a-z0-9][\w.-]{0,100} ?(?:\[[\w., -]{0,100}\])? ?(?:${VERSION}(?: ?, ?${VERSION}){0,9})?(?: ?;[\w .'"()<>=!~,+*-]{1,150})?$`,
      "i",
    ),
    advice: "write a name, and perhaps extras, versions and a marker, such as requests>=2.31",
  },
  npm: {
    pattern: /^(?:@[a-z0-9][\w.~-]{0,100}\/)?[a-z0-9][\w.~-]{0,200}(?:@[\w.*^~<>=|+ -]{1,100})?$/i,
    advice: "write name or name@version, such as zod@^4",
  },
};
/** The installers take a name like this for a file. */
const ARCHIVE = /\.(?:whl|zip|tar|t?gz|tbz2?|bz2|txz|xz|tlz|lzma)$/i;

/** Throws `TOOL_INVALID` for what is no requirement: an option, a path, an address. */
export function toWish(installer: Installer, requirements: readonly string[], mayBuild: boolean): PackageWish {
  const { pattern, advice } = FORMS[installer];
  const trimmed = requirements.map((one) => one.trim());
  for (const one of trimmed) {
    if (pattern.test(one) && !ARCHIVE.test(one)) continue;
    throw new BelljarError("TOOL_INVALID", `${JSON.stringify(one.slice(0, 200))} is no requirement for ${installer}: ${advice}`);
  }
  return { installer, mayBuild, requirements: [...new Set(trimmed)].toSorted() };
}
