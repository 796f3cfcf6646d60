import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { noTemplate } from "../../../template/parse-options.ts";
import { fromUuid, teamOf, toUuid } from "./team.ts";

/** What a build belongs to that says no tag. */
export const DEFAULT_TAG = "default";
/** What clients call our own template, whatever is in it on E2B's side. */
const BASES: ReadonlySet<string> = new Set(["base", "e2bdev/base", "code-interpreter-v1", "e2bdev/code-interpreter", "mcp-gateway"]);
/** Names that mean something else in our place. */
const RESERVED: ReadonlySet<string> = new Set(["bare", "desktop", ...BASES]);

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const TAG = /^[a-z0-9_][a-z0-9_.-]{0,62}$/;
/** Names of ours may have dots, and E2B's have none. */
const DOMAIN_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** `TEAM/NAME:TAG`, where the team and the tag may be absent. */
export interface TemplateName {
  readonly name: string;
  readonly tag: string;
  /** The tag was said. */
  readonly hasTag: boolean;
}

export function isBase(text: string): boolean {
  return BASES.has(
    text
      .trim()
      .toLowerCase()
      .replace(/:[^:/]*$/, ""),
  );
}

/**
 * The name of one that is to be made or tagged. Throws `ARGUMENTS_INVALID` for what none can have, `FORBIDDEN` for another team's and
 * `TEMPLATE_NAME_TAKEN` for one of our own.
 */
export function parseNewName(text: string, caller: Principal): TemplateName {
  const { team, ...parsed } = split(text);
  const { slug } = teamOf(caller);
  if (team !== undefined && team !== slug)
    throw new BelljarError(
      "FORBIDDEN",
      `The template would belong to the team ${JSON.stringify(team.slice(0, 63))}, and yours is "${slug}"`,
    );
  if (!NAME.test(parsed.name)) throw invalid(text, "a name has 1 to 63 characters: a-z, 0-9, dash and underscore");
  assertTag(parsed.tag);
  if (RESERVED.has(parsed.name))
    throw new BelljarError("TEMPLATE_NAME_TAKEN", `The name "${parsed.name}" is one of Belljar's own: choose another one`);
  return parsed;
}

export function assertTag(tag: string): void {
  if (!TAG.test(tag)) throw invalid(tag, "a tag has 1 to 63 characters: a-z, 0-9, dot, dash and underscore");
}

/** The name of one that may be there. Throws `TEMPLATE_NOT_FOUND` for what none of the caller's can be called. */
export function parseName(text: string, caller: Principal): TemplateName {
  const found = findName(text, caller);
  if (found) return found;
  throw noTemplate(text);
}

/** The same; undefined in the place of an error. */
export function findName(text: string, caller: Principal): TemplateName | undefined {
  const { team, ...parsed } = split(text);
  const isOurs = team === undefined || team === teamOf(caller).slug;
  return isOurs && DOMAIN_NAME.test(parsed.name) && TAG.test(parsed.tag) ? parsed : undefined;
}

/** By which name the home has it. A tag is a template of its own there, whose name goes on with a dot and the tag. */
export function toDomainName({ name, tag }: Pick<TemplateName, "name" | "tag">): string {
  return tag === DEFAULT_TAG ? name : `${name}.${tag}`;
}

export function fromDomainName(text: string): Pick<TemplateName, "name" | "tag"> {
  const dot = text.indexOf(".");
  return dot < 0 ? { name: text, tag: DEFAULT_TAG } : { name: text.slice(0, dot), tag: text.slice(dot + 1) };
}

function split(text: string): TemplateName & { readonly team?: string } {
  const lower = text.trim().toLowerCase();
  const slash = lower.indexOf("/");
  const rest = lower.slice(slash + 1);
  const colon = rest.indexOf(":");
  const [name, tag] = colon < 0 ? [rest, DEFAULT_TAG] : [rest.slice(0, colon), rest.slice(colon + 1)];
  return { name, tag, hasTag: colon >= 0, ...(slash >= 0 && { team: lower.slice(0, slash) }) };
}

function invalid(text: string, rule: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(text.slice(0, 80))} is no name of a template: ${rule}`);
}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 20;

/** The id of a build in the form of E2B's. Its 20 digits of 36 have fewer bits than a UUID. */
export function toBuildId(id: string): string {
  return toUuid(id.split("").reduce((sum, digit) => sum * 36n + BigInt(DIGITS.indexOf(digit)), 0n));
}

/** Throws `TEMPLATE_NOT_FOUND` for what is the id of no build. */
export function fromBuildId(uuid: string): string {
  const id = fromUuid(uuid.toLowerCase())?.toString(36).padStart(ID_LENGTH, "0");
  if (id?.length === ID_LENGTH) return id;
  throw new BelljarError("TEMPLATE_NOT_FOUND", "There is no such build of yours");
}
