import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { CommandCall } from "../command.ts";
import { textOption } from "../command.ts";

/** Parses the policy of the configuration. Rejects with `CONFIG_INVALID`, which names the setting. `none` loads no parser. */
export async function configuredPolicy(config: Config, section: "sandbox" | "program" | "e2b"): Promise<NetworkPolicy> {
  const text = config[section].network;
  if (text === "none") return text;
  const { parseNetworkPolicy } = await import("../../network/check-policy.ts");
  try {
    return parseNetworkPolicy(text);
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    const variable = `BELLJAR_${section.toUpperCase()}_NETWORK`;
    throw new BelljarError("CONFIG_INVALID", `${section}.network (${variable}, --network): ${cause.message}`, { cause });
  }
}

/** Parses `--network`. Returns an empty object if it is not given. Rejects with `ARGUMENTS_INVALID`. */
export async function networkOption(call: CommandCall): Promise<{ readonly network?: NetworkPolicy }> {
  const text = textOption(call, "network");
  if (text === undefined) return {};
  const { parseNetworkPolicy } = await import("../../network/check-policy.ts");
  return { network: parseNetworkPolicy(text) };
}
