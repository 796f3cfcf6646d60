import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

let cli: CliHome;
/** Not an address that `no_proxy` names. */
const origin = createServer((_request, response) => void response.end("answered"));
let rule: string;

beforeAll(async () => {
  cli = await openCliHome();
  origin.listen(0, "127.0.0.2");
  await once(origin, "listening");
  rule = `127.0.0.2:${(origin.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await cli[Symbol.asyncDispose]();
  origin.close();
});

async function create(...options: readonly string[]): Promise<string> {
  const { stdout, stderr } = await cli.run(["sandbox", "create", ...options]);
  expect(stderr).toBe("");
  return stdout.trim();
}

const curl = (id: string, ...more: readonly string[]) => cli.run(["exec", id, "--", "curl", "-sS", "--max-time", "20", ...more]);

it("reaches nothing unless a policy says so", async () => {
  const id = await create();
  const remedy = `--allow ${rule}`;
  expect(await curl(id, "-f", `http://${rule}/`)).toEqual({
    code: 22,
    stdout: "",
    stderr: [
      "curl: (22) The requested URL returned error: 403",
      "belljar: Network: refused to the programs of this sandbox meanwhile:",
      `belljar: - ${rule}: no-rule; the missing rule is ${rule}`,
      `belljar: The person can allow it: belljar sandbox network ${id} ${remedy}`,
      "",
    ].join("\n"),
  });
  expect((await cli.run(["sandbox", "network", id])).stdout).toBe("none\n");
});

it("reaches what its policy names, and tells the program which rule is missing", async () => {
  const id = await create("--network", rule);
  expect(await curl(id, `http://${rule}/`)).toMatchObject({ code: 0, stdout: "answered" });
  const refused = await curl(id, "-w", "%{http_code}", "http://198.51.100.1/");
  expect(refused.stdout).toMatch(new RegExp(`belljar sandbox network ${id} --allow .*403$`, "s"));
});

it("shows and changes the policy while the sandbox lives", async () => {
  const id = await create("--network", "npm");
  const network = async (...more: readonly string[]) => (await cli.run(["sandbox", "network", id, ...more])).stdout;
  expect(await network()).toBe("npm\n");
  expect(await network("--allow", "pypi,Example.COM", "--deny", "npm")).toBe("pypi\nexample.com\n");
  expect(JSON.parse(await network("--json"))).toEqual({ allow: ["pypi", "example.com"] });
  expect(await network("all")).toBe("all\n");
  expect((await cli.run(["sandbox", "info", id])).stdout).toMatch(/^network +all$/m);
  expect(await network("none")).toBe("none\n");
});

it.each([
  ["a wildcard that anybody can register below", ["sandbox", "create", "--network", "*.com"], /anybody can register/],
  ["a denial of what is not there", ["sandbox", "network", "ID", "--deny", "npm"], /"npm" is not a rule/],
  ["a set that is not there", ["network", "sets", "cpan"], /"cpan" is no set/],
  ["a secret without a host", ["sandbox", "create", "--secret", "KEY=name"], /VARIABLE=NAME@HOST/],
  [
    "a secret that is not stored",
    ["sandbox", "create", "--network", "npm", "--secret", "KEY=gone@registry.npmjs.org"],
    /belljar secret set gone/,
  ],
])("refuses %s and says what to do", async (_, argv, message) => {
  const id = argv.includes("ID") ? await create() : "";
  const { code, stderr } = await cli.run(argv.map((word) => (word === "ID" ? id : word)));
  expect(code).not.toBe(0);
  expect(stderr).toMatch(message);
});

it("prints the named sets with a reason for each rule", async () => {
  const { stdout } = await cli.run(["network", "sets"]);
  for (const name of ["npm", "pypi", "debian", "github"]) expect(stdout).toMatch(new RegExp(`^${name}: `, "m"));
  expect(stdout).toMatch(/^ {2}https:\/\/registry\.npmjs\.org +\S/m);
  const [set] = JSON.parse((await cli.run(["network", "sets", "pypi", "--json"])).stdout) as { name: string }[];
  expect(set).toMatchObject({ name: "pypi" });
});

it("gives a one-shot program the network that the command line names", async () => {
  const code = `import urllib.request; print(urllib.request.urlopen("http://${rule}/").read().decode())`;
  const run = (...options: readonly string[]) => cli.run(["run", "-", "--lang", "python", ...options], { input: code });
  expect(await run("--network", rule)).toMatchObject({ code: 0, stdout: "answered\n" });
  expect((await run()).code).toBe(1);
});

it.each([
  { argv: ["sandbox", "create"], section: "sandbox" },
  { argv: ["mcp"], section: "program" },
])("stops the start of $argv with a policy of a $section that cannot be used, and names the setting", async ({ argv, section }) => {
  const variable = `BELLJAR_${section.toUpperCase()}_NETWORK`;
  const { code, stderr } = await cli.run(argv, { env: { [variable]: "*.com" } });
  expect(code).not.toBe(0);
  expect(stderr).toContain(`${section}.network (${variable}, --network)`);
});

it("puts a placeholder where a secret is used, and shows which secret it is", async () => {
  await cli.run(["secret", "set", "api"], { input: "the-value" });
  const id = await create("--network", "api.example.com", "--secret", "API_KEY=api@api.example.com");
  expect((await cli.run(["exec", id, "--", "printenv", "API_KEY"])).stdout).toMatch(/^belljar_secret_\w+\n$/);
  expect((await cli.run(["sandbox", "info", id])).stdout).toMatch(/^secret API_KEY +api for api\.example\.com$/m);
});
