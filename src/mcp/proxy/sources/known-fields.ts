import { didYouMean } from "../../../files/suggest.ts";
import { ENTRY_FIELDS, entryError } from "../../client/config/read-entry.ts";
import { SETTING_FIELDS } from "../hub-settings.ts";

/** What hosts write beside the fields that mean something here. None of it confines a server. */
const OF_HOSTS: Readonly<Record<string, readonly string[]>> = {
  "several hosts": [
    "type",
    "transport",
    "transportType",
    "name",
    "title",
    "description",
    "icon",
    "iconPath",
    "tags",
    "version",
    "_comment",
  ],
  "Cline, Roo, Kiro, Windsurf": ["autoApprove", "alwaysAllow", "disabledTools", "watchPaths", "remoteConfigured"],
  "VS Code": ["dev", "gallery", "sandboxEnabled", "sandbox"],
  Codex: ["enabled_tools", "disabled_tools", "required", "scopes", "startup_timeout_ms"],
  Gemini: ["trust", "includeTools", "excludeTools", "authProviderType", "targetAudience", "targetServiceAccount", "extensionName"],
  "Zed, Copilot, Goose": ["source", "settings", "tools", "bundled", "available_tools", "display_name"],
  "LibreChat, LangChain": ["chatMenu", "serverInstructions", "startup", "initTimeout", "customUserVars", "encoding", "session_kwargs"],
};
const OWN = [...ENTRY_FIELDS, ...SETTING_FIELDS];
const KNOWN: ReadonlySet<string> = new Set([...OWN, ...Object.values(OF_HOSTS).flat()]);

/**
 * Throws `CONFIG_INVALID` for a field that neither Belljar nor a host knows, with the nearest one that Belljar has. Whoever gives an entry to Belljar
 * alone means each of its fields; in a file that hosts share, a field may be another's.
 */
export function assertKnownFields(entry: Readonly<Record<string, unknown>>, place: { readonly file: string; readonly name: string }): void {
  const unknown = Object.keys(entry).find((key) => !KNOWN.has(key));
  if (unknown === undefined) return;
  const shown = unknown.slice(0, 100);
  throw entryError(
    place,
    shown,
    `is no field of a server${didYouMean(shown, OWN) || `. It has ${SETTING_FIELDS.join(", ")}, and what hosts know`}`,
  );
}
