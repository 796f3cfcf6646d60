import type { CliHome } from "./belljar-cli.ts";

/**
 * Removes the sandboxes and templates of a token's principal, by another token of that name, which may do all: what programs inside have written
 * may be nobody else's to remove.
 */
export async function removeMade(cli: CliHome, url: string, name: string): Promise<void> {
  const { stdout } = await cli.run(["token", "create", name]);
  const headers = { authorization: `Bearer ${stdout.trim()}` };
  const { sandboxes } = (await (await fetch(`${url}/v1/sandboxes`, { headers })).json()) as { sandboxes: { id: string; state: string }[] };
  const living = sandboxes.filter(({ state }) => state !== "ended");
  await Promise.all(living.map(({ id }) => fetch(`${url}/v1/sandboxes/${id}`, { method: "DELETE", headers })));
  const { templates } = (await (await fetch(`${url}/v1/templates`, { headers })).json()) as { templates: { name: string }[] };
  for (const { name: one } of templates) await fetch(`${url}/v1/templates/${one}`, { method: "DELETE", headers });
  await fetch(`${url}/v1/templates/prune`, { method: "POST", headers });
}
