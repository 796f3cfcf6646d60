/** One measurement in a process and a home of its own, so that none pays for another. Its rows go to the parent. */
import { openHome } from "./harness.mjs";

const { measure, storage } = await import(process.argv[2]);
const home = await openHome({ storage });
try {
  const rows = await measure(home);
  process.send(rows);
} finally {
  await home.close();
  process.disconnect();
}
