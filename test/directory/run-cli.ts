/** Runs `openhisp directory …` as its own process: `node run-cli.ts directory import FILE`, data in OPENHISP_DATA_DIR. */
import '../../src/app/cli/main.ts';
