import type { DriverOptions } from "./wire.ts";

/** A flag that Chromium is started with, and why. `docs/reference/browser-flags.md` has the same table, made of this one. */
export interface Flag {
  readonly flag: string;
  readonly reason: string;
}

/** All that it is started with but for what each browser has of its own (`OWN_FLAGS`), and none of playwright's defaults. */
export const FLAGS: readonly Flag[] = [
  { flag: "--headless", reason: "There is no screen. It is the whole Chromium all the same, not the old shell." },
  {
    flag: "--no-sandbox",
    reason: "Chromium's own sandbox makes user namespaces, which no sandbox of Belljar's may. That one stands around all of Chromium.",
  },
  { flag: "--remote-debugging-pipe", reason: "It is driven over a pipe that the driver alone holds. There is no debugging port." },
  { flag: "--no-first-run", reason: "No welcome pages." },
  { flag: "--no-default-browser-check", reason: "Nobody is asked." },
  { flag: "--disable-search-engine-choice-screen", reason: "Nobody is asked." },
  {
    flag: "--disable-dev-shm-usage",
    reason: "Shared memory lies in /tmp, which has the sandbox's limit and not the 64 MB of others' containers.",
  },
  { flag: "--password-store=basic", reason: "There is no keyring of a desktop to wait for." },
  { flag: "--hide-scrollbars", reason: "Screenshots show the page alone." },
  { flag: "--mute-audio", reason: "There is no sound card." },
  { flag: "--force-color-profile=srgb", reason: "Screenshots have the same colours on every machine." },
  { flag: "--enable-unsafe-swiftshader", reason: "WebGL without a graphics card; what it may break is inside the sandbox." },
  { flag: "--disable-breakpad", reason: "No crash reporter runs beside it, and nothing is sent." },
  { flag: "--disable-extensions", reason: "A profile that was copied in brings no programs of its own." },
  { flag: "--disable-default-apps", reason: "None is installed." },
  { flag: "--disable-hang-monitor", reason: "The driver finds pages that hang, and nobody is there to answer a window." },
  { flag: "--disable-prompt-on-repost", reason: "Nobody is there to answer." },
  { flag: "--allow-pre-commit-input", reason: "A click right after a navigation is not lost." },
  {
    flag: "--disable-back-forward-cache",
    reason: "Going back loads a new document, so a reference never means an element of a page that was left.",
  },
  { flag: "--disable-field-trial-config", reason: "Every Chromium of one version behaves alike." },
  { flag: "--disable-background-networking", reason: "Chromium's own traffic: it would fill the audit, and a policy would refuse it." },
  { flag: "--disable-component-update", reason: "The same: updates of components." },
  {
    flag: "--component-updater=url-source=http://127.0.0.1:9/",
    reason:
      "The same: a list of models is asked for all the same, a second after the start. Nobody answers at this port of the sandbox, and nothing that is not signed would be taken.",
  },
  { flag: "--disable-sync", reason: "The same: accounts." },
  { flag: "--disable-domain-reliability", reason: "The same: reports on sites that fail." },
  { flag: "--metrics-recording-only", reason: "The same: metrics are not sent." },
  { flag: "--no-pings", reason: "Links send no `ping` beside the navigation that was asked for." },
  { flag: "--disable-quic", reason: "QUIC is UDP, which the sandbox's way out does not carry." },
  {
    flag: "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    reason: "WebRTC sends no UDP past the proxy, and tells pages no addresses of the sandbox.",
  },
];

/** Features that are off, in one `--disable-features`. */
export const DISABLED_FEATURES: readonly Flag[] = [
  { flag: "DnsOverHttpsUpgrade", reason: "Names are resolved by the sandbox's way out, which judges them." },
  { flag: "AsyncDns", reason: "The same: no resolver of Chromium's own." },
  { flag: "OptimizationHints", reason: "Chromium's own traffic." },
  { flag: "NetworkTimeServiceQuerying", reason: "Chromium's own traffic." },
  { flag: "PreconnectToSearch", reason: "Chromium's own traffic." },
  { flag: "AimEnabled", reason: "Chromium's own traffic." },
  { flag: "AutofillServerCommunication", reason: "Forms are not described to a server." },
  { flag: "Translate", reason: "Pages are neither sent to a translator nor covered by its question." },
  { flag: "MediaRouter", reason: "It would look for screens in the network." },
  { flag: "HttpsUpgrades", reason: "A rule for http:// is for http://: an address is asked for as it was given." },
  { flag: "HttpsFirstBalancedModeAutoEnable", reason: "The same." },
  { flag: "PaintHolding", reason: "A screenshot right after a navigation shows the new page." },
  { flag: "AvoidUnnecessaryBeforeUnloadCheckSync", reason: "`beforeunload` is asked in every case, so that its dialog is seen." },
  { flag: "DestroyProfileOnBrowserClose", reason: "The last tab may be closed, and the browser goes on." },
];

export const ENABLED_FEATURES: readonly Flag[] = [
  { flag: "CDPScreenshotNewSurface", reason: "Screenshots of what is out of view, without a change of the window." },
];

/**
 * What each browser has of its own. The text after `=` stands for the value. In a machine that Belljar runs inside of there is no proxy of a
 * sandbox: without the flags of one Chromium reads the variables `http_proxy`, `https_proxy` and `no_proxy` by itself.
 */
export const OWN_FLAGS: readonly Flag[] = [
  { flag: "--user-data-dir=FOLDER", reason: "The profile, in the home of the sandbox's user: `~/.cache/belljar-browser/profile`." },
  ...proxyFlags("ID"),
  { flag: "--window-size=1280,720", reason: "How large a page is shown until somebody says otherwise." },
  { flag: "about:blank", reason: "The first tab starts with the browser, not after it." },
];
export interface CommandLine {
  readonly profile: string;
  readonly hostName: string;
  readonly network: DriverOptions["network"];
}

export function commandLine({ profile, hostName, network }: CommandLine): readonly string[] {
  const names = (features: readonly Flag[]): string => features.map(({ flag }) => flag).join(",");
  return [
    ...FLAGS.map(({ flag }) => flag),
    `--disable-features=${names(DISABLED_FEATURES)}`,
    `--enable-features=${names(ENABLED_FEATURES)}`,
    `--user-data-dir=${profile}`,
    ...(network === "sandbox" ? proxyFlags(hostName).map(({ flag }) => flag) : []),
    "--window-size=1280,720",
    "about:blank",
  ];
}

function proxyFlags(hostName: string): readonly Flag[] {
  return [
    {
      flag: "--proxy-server=http://127.0.0.1:3128",
      reason:
        "The way out of the sandbox, as its commands use it. What it does not carry, no page reaches; the sandbox's own ports are asked directly.",
    },
    {
      flag: `--proxy-bypass-list=<-loopback>;localhost;*.localhost;127.0.0.0/8;[::1];${hostName}`,
      reason:
        "The sandbox's own servers, which no proxy reaches. Without the first word Chromium would ask link-local addresses past the proxy too, such as that of a cloud's metadata.",
    },
  ];
}
