import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** Connects, and waits until a tool is in the list, which the client hears of, and calls it. */
export async function useTool(name: string, transport: ConstructorParameters<typeof StdioClientTransport> | URL): Promise<unknown> {
  let told = (): void => undefined;
  const changed = new Promise<void>((resolve) => (told = resolve));
  const onChanged = (): void => void listed().then((isThere) => isThere && told());
  const client = new Client({ name: "test", version: "1" }, { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } } });
  const listed = async (): Promise<boolean> => (await client.listTools()).tools.some((tool) => tool.name === name);
  await client.connect(transport instanceof URL ? new StreamableHTTPClientTransport(transport) : new StdioClientTransport(...transport));
  try {
    if (!(await listed())) await changed;
    return (await client.callTool({ name, arguments: {} })).content;
  } finally {
    await client.close();
  }
}
