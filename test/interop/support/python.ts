import { join } from "node:path";
import { apt, cache, hasApt, installed, run, succeed } from "./tool.js";

/**
 * The environment in which Python caches compiled modules in one folder. By default it writes them beside the sources,
 * some of which are in the repository.
 */
export const pythonEnvironment: Readonly<Record<string, string>> = {
  // Some machines disable caching for all programs.
  PYTHONDONTWRITEBYTECODE: "",
  PYTHONPYCACHEPREFIX: join(cache, "python-compiled"),
};

/** Installs the module that creates environments, which Debian's Python lacks. */
async function installVenv(): Promise<void> {
  const { code } = await run("python3", ["-c", "import ensurepip"]);
  if (code !== 0 && hasApt()) await apt("python3-venv");
}

const needs = "Python 3.10 or later as python3, with its venv module (Debian: python3-venv), and access to PyPI";

/**
 * The Python of an environment that contains only pip. It installs into all others, because creating pip takes seconds.
 */
async function withPip(): Promise<string> {
  const folder = await installed({
    name: "python-pip",
    needs,
    install: async (into) => {
      await installVenv();
      await succeed("python3", ["-m", "venv", into]);
    },
  });
  return join(folder, "bin", "python");
}

/** The Python of an environment with these requirements. @param name identifies the installation */
export async function pythonWith(name: string, requirements: string): Promise<string> {
  const folder = await installed({
    name,
    needs,
    install: async (into) => {
      const pip = await withPip();
      await succeed("python3", ["-m", "venv", "--without-pip", into]);
      const flags = ["--quiet", "--disable-pip-version-check", "--no-compile"];
      const python = join(into, "bin", "python");
      await succeed(pip, ["-m", "pip", "--python", python, "install", ...flags, "-r", requirements]);
    },
  });
  return join(folder, "bin", "python");
}
