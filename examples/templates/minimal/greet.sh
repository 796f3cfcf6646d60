#!/bin/sh
echo "${GREETING:-hi} from a template"
