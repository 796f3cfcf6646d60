import type { Principal } from "../../sandbox/sandbox.ts";
import type { FacadeSettings } from "./facade-settings.ts";

/** Which callers have a tool server, known without asking the disk for each list of tools. */
export interface ToolServerOwners {
  /** The same settings; what is set through them is known at once. */
  readonly settings: FacadeSettings;
  /** False as long as it was not loaded. */
  has(principal: Principal): boolean;
  /** Looks once what was set before this process started. */
  load(principal: Principal): Promise<void>;
  /** Calls back with a caller's id when it has one for the first time, or has one no more. */
  onChange(listener: (ownerId: string) => void): void;
}

const OWNERS_MAX = 10_000;

export function createToolServerOwners(settings: FacadeSettings): ToolServerOwners {
  const known = new Map<string, boolean>();
  const listeners: ((ownerId: string) => void)[] = [];
  const set = (principal: Principal, has: boolean): void => {
    const before = known.get(principal.id) ?? false;
    if (known.size >= OWNERS_MAX) known.clear();
    known.set(principal.id, has);
    if (has !== before) for (const listener of listeners) listener(principal.id);
  };
  const learn = async (principal: Principal): Promise<void> => set(principal, (await settings.toolServer(principal)) !== undefined);
  return {
    settings: {
      ...settings,
      async setCredential(principal, credential) {
        await settings.setCredential(principal, credential);
        await learn(principal);
      },
      async setToolServer(principal, url) {
        await settings.setToolServer(principal, url);
        await learn(principal);
      },
    },
    has: ({ id }) => known.get(id) ?? false,
    async load(principal) {
      if (known.has(principal.id)) return;
      // What cannot be read is not tried again with each request.
      set(principal, false);
      await learn(principal);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
