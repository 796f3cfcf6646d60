import { printable } from "../files/printable.ts";
import type { RefusedPlace, Refusals } from "../network/refusal-log.ts";

/** Longest host that is shown; a program inside chose it. */
const SHOWN_MAX = 100;
/** A host, with its port if it has one. */
const PLACE = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** A rule that may stand on a command line as it is. */
const RULE = /^[A-Za-z0-9._:[\]-]{1,128}$/;

interface RefusedSandbox {
  readonly id: string;
  /** It ends with its program: its policy is that of the next such sandbox. */
  readonly ephemeral: boolean;
}

/** How to ask for missing rules, in one line. */
export type Remedy = (rules: readonly string[]) => string;

/**
 * A few lines on the refused connections of a sandbox: the places, the rules that are missing, how to ask for them. Empty if there were none.
 * Default remedy: the CLI's.
 */
export function tellRefusals(sandbox: RefusedSandbox, { places, others }: Refusals, remedy?: Remedy): readonly string[] {
  if (places.length === 0) return [];
  const more = others > 0 ? [`- and ${others} more`] : [];
  return [
    "Network: refused to the programs of this sandbox meanwhile:",
    ...places.map(tellPlace),
    ...more,
    ...tellRemedy(places, remedy ?? remedyFor(sandbox)),
  ];
}

function tellPlace({ place, reason, missingRule, count }: RefusedPlace): string {
  const times = count > 1 ? `, ${count} times` : "";
  const rule = isShown(missingRule) ? `; the missing rule is ${missingRule}` : "";
  return `- ${place === "" ? "(no place)" : showPlace(place)}${times}: ${reason}${rule}`;
}

/** Short and printable. What is no host and port stands in quotes: a program inside wrote it, and a model reads these lines as Belljar's. */
function showPlace(text: string): string {
  if (text.length <= SHOWN_MAX && PLACE.test(text)) return text;
  const quoted = `"${printable(text.slice(0, SHOWN_MAX)).slice(0, SHOWN_MAX).replaceAll('"', "'")}"`;
  return text.length > SHOWN_MAX ? `${quoted}...` : quoted;
}

function tellRemedy(places: readonly RefusedPlace[], remedy: Remedy): readonly string[] {
  const rules = [...new Set(places.map(({ missingRule }) => missingRule))].filter(isShown);
  return rules.length === 0 ? [] : [remedy(rules)];
}

function remedyFor({ id, ephemeral }: RefusedSandbox): Remedy {
  return (rules) =>
    ephemeral
      ? `The person can allow it for one program: belljar run --network ${rules.join(",")}`
      : `The person can allow it: belljar sandbox network ${id} ${rules.map((rule) => `--allow ${rule}`).join(" ")}`;
}

function isShown(rule: string | undefined): rule is string {
  return rule !== undefined && RULE.test(rule);
}
