import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { Host } from "./host.ts";

/** Checks the host without creating a sandbox. It lists obstacles, each with its exact remedy. */
export function hostChecks(host: Host): readonly IsolationCheck[] {
  if (host.platform !== "linux") return [platformCheck(host)];
  return [nativeCheck(host), ...(host.isRoot ? [] : userNamespaceChecks(host)), ...containerChecks(host), ...uidmapChecks(host)];
}

function platformCheck({ platform }: Host): IsolationCheck {
  const name = platform === "darwin" ? "macOS" : platform;
  return {
    id: "platform",
    state: "absent",
    detail: `The namespace runtime needs Linux; this is ${name}`,
    remedy: [
      "Run `belljar serve` in a Linux virtual machine, and the CLI here against it:",
      "  limactl start template://debian-12   (brew install lima), install Belljar in it, then in it: belljar serve",
      "  here: export BELLJAR_URL=http://127.0.0.1:6060",
    ].join("\n"),
  };
}

function nativeCheck({ hasNativeBinary }: Host): IsolationCheck {
  if (hasNativeBinary) return { id: "native-binary", state: "enforced", detail: "The native binary is built" };
  return {
    id: "native-binary",
    state: "absent",
    detail: "The native binary is missing",
    remedy: "npm run build   (needs: apt-get install gcc make libc6-dev)",
  };
}

function userNamespaceChecks({ userNamespaces, inContainer }: Host): readonly IsolationCheck[] {
  const { max, unprivileged, apparmorRestricted } = userNamespaces;
  const forbidden = (detail: string, remedy: string): IsolationCheck => ({ id: "user-namespace", state: "absent", detail, remedy });
  if (max === 0) {
    return [
      forbidden(
        "This host allows no user namespaces (user.max_user_namespaces is 0)",
        setSwitch("user.max_user_namespaces", 28_633, inContainer),
      ),
    ];
  }
  if (unprivileged === 0) {
    const name = "kernel.unprivileged_userns_clone";
    return [forbidden(`Ordinary users may make no user namespaces (${name} is 0)`, setSwitch(name, 1, inContainer))];
  }
  if (apparmorRestricted === 1)
    return [forbidden("AppArmor forbids user namespaces to programs without a profile (Ubuntu's rule)", APPARMOR)];
  return [];
}

const APPARMOR = [
  "Allow it only for Belljar's native binary:",
  "  printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile belljar /**/native/build/belljar-native flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/belljar",
  "  sudo apparmor_parser -r /etc/apparmor.d/belljar",
  "or for every program: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
].join("\n");

function setSwitch(name: string, value: number, inContainer: boolean): string {
  const where = inContainer ? " (on the container's host)" : "";
  return `sudo sysctl -w ${name}=${value}${where}; to keep it: echo ${name}=${value} | sudo tee /etc/sysctl.d/60-belljar.conf`;
}

function containerChecks({ inContainer }: Host): readonly IsolationCheck[] {
  if (!inContainer) return [];
  return [
    {
      id: "container",
      state: "partial",
      detail: "This is a container; its manager may forbid namespaces and mounts",
      remedy:
        "When sandboxes fail: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined ...",
    },
  ];
}

function uidmapChecks({ isRoot, hasNewuidmap }: Host): readonly IsolationCheck[] {
  if (isRoot || hasNewuidmap) return [];
  return [
    {
      id: "two-users",
      state: "absent",
      detail: "newuidmap is missing, so root and user are one id inside",
      remedy:
        "sudo apt-get install uidmap, and a range for you in /etc/subuid and /etc/subgid: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER",
    },
  ];
}
