import type { HubServer, ToldSetting } from "./hub-server.ts";

/** Of one value. A longer one says that it is cut. */
const VALUE_MAX = 20_000;

/**
 * What an entry gives its server and confines it to, beside what runs, its network and its folder: for whoever approves it. Of variables and headers the
 * names alone, and no secret's value.
 */
export function tellSettings({ target, settings }: HubServer): readonly ToldSetting[] {
  const { secrets = {}, limits, template, select, rename, approve, list, session, pin } = settings;
  const cells: readonly (readonly [name: string, value: string | readonly string[] | undefined])[] = [
    ...(target.kind === "stdio"
      ? [["env", Object.keys(target.ownEnv)] as const, ["cwd", target.cwd] as const]
      : [["headers", Object.keys(target.headers)] as const]),
    ["secrets", Object.entries(secrets).map(([name, { env, hosts }]) => `${env}: ${toUse(name, hosts)}`)],
    ["template", template],
    ["limits", Object.entries(limits ?? {}).map(([name, value]) => `${name} ${value}`)],
    ["approve", approve],
    ["session", session && "shared: one instance for all callers"],
    ["pin", pin ?? "no: changes are told"],
    ["list", list],
    ["select", select && (select.size === 0 ? "no tool" : [...select].map(quoted))],
    ["rename", Object.entries(rename).map(([from, to]) => `${quoted(from)} as ${quoted(to)}`)],
  ];
  return cells.flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : value?.join(", ");
    return text === undefined || text === "" ? [] : [{ name, value: cut(text) }];
  });
}

function toUse(name: string, hosts: readonly string[] | undefined): string {
  return hosts ? `the secret ${quoted(name)}, for ${hosts.join(" ")} alone` : `the secret ${quoted(name)}, its value itself`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function cut(text: string): string {
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}... (cut: ${text.length - VALUE_MAX} more characters)` : text;
}
