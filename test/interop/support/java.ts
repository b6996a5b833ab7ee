import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apt, hasApt, installed, run, succeed } from "./tool.js";

/** A project of Maven, built in a folder of its own. */
export interface JavaProject {
  /** Name with versions and, behind them, a number that grows with what is in the folder. */
  readonly name: string;
  /** Where its `pom.xml` and its sources are. */
  readonly from: string;
  /** What Maven is asked for; the classes with their classpath when nothing is said. */
  readonly goals?: readonly string[];
}

/**
 * Flags of each JVM: it runs for seconds, in which the optimizing compiler and a parallel collector cost more processor
 * time than they save.
 */
export const jvmFlags: readonly string[] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/** The environment of Maven, which runs what it builds in its own JVM at times. */
export const mavenEnvironment: Readonly<Record<string, string>> = { MAVEN_OPTS: ["-Xmx512m", ...jvmFlags].join(" ") };

const classes = ["compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath"];

/** The folder in which a project of Maven is built, with Java and Maven installed where that is possible. */
export function javaProject({ name, from, goals = classes }: JavaProject): Promise<string> {
  return installed({
    name,
    needs: "Java 17 or later with Maven, and access to Maven Central",
    install: async (into) => {
      if ((await run("bash", ["-c", "command -v mvn && command -v javac"])).code !== 0 && hasApt()) {
        await apt("maven");
        await apt("default-jdk-headless");
      }
      cpSync(from, into, { recursive: true });
      await succeed("mvn", ["-q", "-B", ...goals], { cwd: into, env: { ...process.env, ...mavenEnvironment } });
    },
  });
}

/** What Java is called with, before the arguments of the program, for a class of a built project. */
export function javaClass(folder: string, name: string): string[] {
  const libraries = readFileSync(join(folder, "classpath"), "utf8").trim();
  return [...jvmFlags, "-Xmx256m", "-cp", [join(folder, "target", "classes"), libraries].join(":"), name];
}
