import { BARE_BASE } from "../../runtime/contract/sandbox-spec.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import { commandOf } from "../image-config.ts";
import type { Making, MakingParts, Wish } from "./making.ts";
import { takeImage } from "./take-image.ts";
import { tryTemplate } from "./try-template.ts";
import { whileHolding } from "./while-holding.ts";

export function fromImage(parts: MakingParts, wish: Wish, image: string): Promise<Making> {
  const runtime = parts.runtimes.choose(wish.principal);
  return whileHolding(needStates(runtime), templateUser(wish), async (held) => {
    const { config, digest, platform, ...unpacked } = await takeImage(parts, wish, { image, platform: wish.options.platform, held });
    const { env, user, workingDir } = config;
    const source = { kind: "image", from: image, digest, platform } as const;
    const made = { source, runtime: runtime.name, base: BARE_BASE.template, ...unpacked, env, user };
    return tryTemplate(parts, wish, { ...made, workingDir, command: commandOf(config), entrypoint: config.entrypoint });
  });
}
