import type { ChangeListener } from "../../../catalog/caller.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { Asker, Completion } from "../../server/asker.ts";
import type { PromptDescription, PromptDoor, PromptResult } from "../../server/prompt-door.ts";
import type { WantedValue } from "../../server/resource-door.ts";
import type { NamedPrompt } from "../server-definitions.ts";
import type { Upstream } from "../upstream.ts";
import { counted } from "../../../catalog/counted.ts";
import { mayRelay } from "./may-relay.ts";
import type { HubResourcesOptions } from "./hub-resources.ts";
import { relinkBlock } from "./relink.ts";
import { toCompletion } from "./to-completion.ts";
import { withoutServer } from "./to-result.ts";

/** The prompts of the hub's servers, named as their tools are. */
export class HubPrompts implements PromptDoor {
  readonly #options: HubResourcesOptions;

  constructor(options: HubResourcesOptions) {
    this.#options = options;
  }

  list(principal: Principal): readonly PromptDescription[] {
    return this.#all(principal).map(({ prompt: { name, definition } }) => ({ ...definition, name }));
  }

  async get(asker: Asker, name: string, args: Readonly<Record<string, string>>): Promise<PromptResult> {
    const { principal } = asker;
    const { upstream, prompt } = this.#find(principal, name);
    return counted(this.#options, { principal, method: "prompts/get", args: { name, arguments: args } }, async () => {
      const answer = await upstream.request(asker, "prompts/get", { name: prompt.definition["name"], arguments: args });
      if (isNestedTooDeep(answer))
        throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${upstream.name}" answered with something that is nested too deep`);
      const { messages, resultType: _, ...beside } = answer;
      const relink = (uri: string): string => this.#options.links.out(principal, upstream.label, uri);
      const list: readonly unknown[] = Array.isArray(messages) ? messages : [];
      const relinked = list.map((one) => (isRecord(one) ? { ...one, content: relinkBlock(one["content"], relink) } : one));
      return { ...withoutServer(beside), messages: relinked as unknown as PromptResult["messages"] };
    });
  }

  async complete(asker: Asker, name: string, { given = {}, ...argument }: WantedValue): Promise<Completion> {
    const { principal } = asker;
    const { upstream, prompt } = this.#find(principal, name);
    if (upstream.listed.capabilities["completions"] === undefined) return { values: [] };
    const params = { ref: { type: "ref/prompt", name: prompt.definition["name"] }, argument, context: { arguments: given } };
    const asked = { principal, method: "completion/complete", args: params };
    return counted(this.#options, asked, async () => toCompletion(await upstream.request(asker, "completion/complete", params)));
  }

  onChange(listener: ChangeListener): () => void {
    return this.#options.view.onList("prompts", listener);
  }

  #all(principal: Principal): readonly Owned[] {
    const upstreams = mayRelay(principal) ? this.#options.view.upstreamsOf(principal) : [];
    return upstreams.flatMap((upstream) => upstream.prompts.map((prompt) => ({ upstream, prompt })));
  }

  /** Of two of one name, as there may be where names have no prefix, the first server's. Throws `PROMPT_NOT_FOUND`. */
  #find(principal: Principal, name: string): Owned {
    const found = this.#all(principal).find(({ prompt }) => prompt.name === name);
    if (found) return found;
    throw new BelljarError("PROMPT_NOT_FOUND", `No prompt ${JSON.stringify(name.slice(0, 100))}; list them to see which there are`);
  }
}

interface Owned {
  readonly upstream: Upstream;
  readonly prompt: NamedPrompt;
}
