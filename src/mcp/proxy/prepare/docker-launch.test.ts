import { expect, it } from "vitest";
import type { HubServer } from "../hub-server.ts";
import { withImage } from "./docker-launch.ts";

const OWN = { TOKEN: "t0ken", OTHER: "x" };

function read(line: string, settings: Partial<HubServer["settings"]> = {}): HubServer {
  const [command = "", ...args] = line.split(" ");
  const limits = { startTimeoutMs: undefined, callTimeoutMs: undefined };
  const target = { kind: "stdio" as const, name: "one", command, args, env: OWN, ownEnv: OWN, cwd: undefined, ...limits };
  return withImage({
    name: "one",
    target,
    settings: { isolation: "sandbox", network: "none", list: "auto", approve: "never", rename: {}, ...settings },
  });
}

const shown = (line: string) => {
  const { settings, target } = read(line);
  return { ...settings.image, mount: settings.mount, env: target.kind === "stdio" ? target.ownEnv : undefined };
};

it.each([
  ["docker run -i --rm mcp/fetch", { image: "mcp/fetch", args: [], env: {} }],
  ["docker run --rm -i -e TOKEN mcp/github stdio --flag", { image: "mcp/github", args: ["stdio", "--flag"], env: { TOKEN: "t0ken" } }],
  ["/usr/bin/podman run -i -e A=b=c --env=D= mcp/x", { image: "mcp/x", args: [], env: { A: "b=c", D: "" } }],
  [
    "docker run -i -v /home/ann:/workspace:ro x /workspace",
    { image: "x", args: ["/workspace"], mount: { host: "/home/ann", mode: "ro" }, env: {} },
  ],
  ["docker run -i --volume=/home/ann:/workspace/ x", { image: "x", args: [], mount: { host: "/home/ann", mode: "rw" }, env: {} }],
  [
    "docker run -i --mount type=bind,src=/home/ann,dst=/workspace,readonly x",
    { image: "x", args: [], mount: { host: "/home/ann", mode: "ro" }, env: {} },
  ],
])("reads %j", (line, expected) => {
  expect(shown(line)).toEqual({ mount: undefined, ...expected });
});

it.each(["docker compose up", "npx docker run x", "node run x"])("leaves %j as it is", (line) => {
  expect(read(line).settings.image).toBeUndefined();
});

it("leaves one as it is that runs on the host, or in a template", () => {
  expect(read("docker run -i x", { isolation: "none" }).settings.image).toBeUndefined();
  expect(read("docker run -i x", { template: "docker" }).settings.image).toBeUndefined();
});

it.each([
  ["docker run -i", "names no image"],
  ["docker run -it x", '"-it" of docker run is not taken'],
  ["docker run --network=host x", '"--network" of docker run is not taken'],
  ["docker run --privileged x", '"--privileged" of docker run is not taken'],
  ["docker run --rm=false x", '"--rm" of docker run is not taken'],
  ["docker run -e", "-e has no value"],
  ["docker run -e ABSENT x", 'there is no "ABSENT", which -e passes on'],
  ["docker run -v notes:/workspace x", '"notes" is no absolute path'],
  ["docker run -v /home/ann:/data x", 'the folder is to be at "/data"'],
  ["docker run -v /home/ann:/workspace:z x", "-v is written HOST:PATH"],
  ["docker run -v /a:/workspace -v /b:/workspace x", "one folder of the host"],
  ["docker run --mount type=volume,src=a,dst=/workspace x", "--mount is taken with type=bind"],
  ["docker run --mount type=bind,src=/a,dst=/workspace,bind-propagation=shared x", "--mount is taken with type=bind"],
])("refuses %j", (line, problem) => {
  expect(() => read(line)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(problem) }));
});

it("leaves a variable to the secret that fills it", () => {
  const secrets = { held: { env: "API_KEY", hosts: ["api.example.com"] } };
  expect(read("docker run -i -e API_KEY x", { secrets }).target).toMatchObject({ ownEnv: {} });
});

it("refuses a second folder beside the entry's own", () => {
  const mount = { host: "/home/bob", mode: "ro" } as const;
  expect(() => read("docker run -v /home/ann:/workspace x", { mount })).toThrow(/one folder of the host/);
});
