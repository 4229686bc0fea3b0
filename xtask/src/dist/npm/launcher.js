#!/usr/bin/env node
// Starts the ktx program that npm installed for this machine, and passes on signals and the exit code.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `@ktx-dev/ktx-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/ktx`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("  next: reinstall @ktx-dev/ktx without --omit=optional; ktx runs on Linux (glibc) and macOS, x64 and arm64");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + os.constants.signals[signal]);
});
