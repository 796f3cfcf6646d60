import { templateUser } from "../../sandbox/template-source.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

export async function fromSnapshot({ sandboxes }: MakingParts, { principal, id, signal }: Wish, snapshot: string): Promise<Making> {
  const held = await sandboxes.holdForTemplate(principal, snapshot, templateUser({ id }), signal);
  const { env, home, cwd } = held.inside;
  const { runtime, base, layers, user, start, tookIn } = held;
  const source = { kind: "snapshot", id: held.id } as const;
  const optional = { ...(user !== undefined && { user }), ...(start && { start }), ...(tookIn !== undefined && { tookIn }) };
  return { source, runtime, base, layers, bytes: 0, env, home, cwd, ...optional };
}
