import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apt, hasApt, installed, run, succeed } from "./tool.js";

/** A Maven project that is built in its own folder. */
export interface JavaProject {
  /** Name with versions, and a number at the end that is raised for each change of the folder. */
  readonly name: string;
  /** Folder with the `pom.xml` and the sources. */
  readonly from: string;
  /** Maven's goals. Default: compile the classes and write their classpath. */
  readonly goals?: readonly string[];
}

/**
 * Flags of each JVM. It runs for seconds, in which the optimizing compiler and a parallel collector cost more processor
 * time than they save.
 */
export const jvmFlags: readonly string[] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/** The environment of Maven, which sometimes runs the built program in its own JVM. */
export const mavenEnvironment: Readonly<Record<string, string>> = { MAVEN_OPTS: ["-Xmx512m", ...jvmFlags].join(" ") };

const classes = ["compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath"];

/** Builds a Maven project. Installs Java and Maven if possible and necessary. Returns the folder. */
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

/** Java's arguments that run a class of a built project, before the program's own arguments. */
export function javaClass(folder: string, name: string): string[] {
  const libraries = readFileSync(join(folder, "classpath"), "utf8").trim();
  return [...jvmFlags, "-Xmx256m", "-cp", [join(folder, "target", "classes"), libraries].join(":"), name];
}
